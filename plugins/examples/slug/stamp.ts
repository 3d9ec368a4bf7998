/**
 * A write hook for articles: sets a slug derived from the title, and rejects one that another article has. An article keeps its
 * slug when its title changes, so that links to it stay valid.
 */
export default (async ({ document, before }, ctx) => {
  if (document === null) return;
  const kept = before?.slug;
  if (typeof kept === 'string') return { ...document, slug: kept };
  if (typeof document.title !== 'string') throw new Refusal('An article needs a title', { pointer: '/title' });
  const slug = slugOf(document.title);
  if (slug === '') throw new Refusal('The title needs a letter or a digit', { code: 'no-slug', pointer: '/title' });
  if ((await ctx.documents('articles').count({ slug })) > 0) {
    throw new Refusal(`Another article has the slug ${slug}`, { code: 'slug-taken', pointer: '/title' });
  }
  return { ...document, slug };
}) satisfies Millrace.Before;

/** Lower-case letters, digits and hyphens; letters lose their accents. */
function slugOf(title: string): string {
  return title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
}
