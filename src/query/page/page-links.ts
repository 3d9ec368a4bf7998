/** The URLs of the next and the previous page of a list, for the header `Link` (RFC 8288). Pure. */

/**
 * @param url path and query of the request for this page
 * @returns the value of the header; null when there is no other page
 */
export function pageLinks(
  url: string,
  { next, prev }: { readonly next: string | null; readonly prev: string | null },
): string | null {
  const links = Object.entries({ next, prev }).flatMap(([rel, cursor]) =>
    cursor === null ? [] : `<${pageUrl(url, cursor)}>; rel="${rel}"`,
  );
  return links.length === 0 ? null : links.join(', ');
}

/** The URL of the same list at another cursor. */
function pageUrl(url: string, cursor: string): string {
  const [path = '', search = ''] = url.split(/\?(.*)/s);
  const others = search.split('&').filter((pair) => pair !== '' && !/^(cursor|skip)=/.test(pair));
  return `${path}?${[...others, `cursor=${cursor}`].join('&')}`;
}
