/**
 * Renders the text of an e-mail as plain text and as HTML with the same content. Pure. The results are templates: they
 * contain variables.
 */
import type { EmailParagraph } from './locales/locale.ts';

const BODY = 'margin:0;padding:24px;background:#f4f4f1;color:#1d2127;font:16px/1.5 system-ui,sans-serif';
const PAPER = 'max-width:520px;margin:0 auto;padding:24px;background:#ffffff;border-radius:8px';
const BUTTON =
  'display:inline-block;padding:10px 20px;border-radius:6px;background:#0b5cad;color:#ffffff;text-decoration:none';
const SMALL = 'font-size:13px;color:#5b626b;word-break:break-all';
const CODE = 'font:24px/1.2 ui-monospace,monospace;letter-spacing:2px';

export function renderEmailText(lines: readonly EmailParagraph[]): string {
  return `${lines.map(asText).join('\n\n')}\n`;
}

function asText(line: EmailParagraph): string {
  if (typeof line === 'string') return line;
  return 'button' in line ? '{{link}}' : line.code;
}

/** @param language tag for the attribute `lang` */
export function renderEmailHtml(lines: readonly EmailParagraph[], language: string): string {
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body style="${BODY}"><div style="${PAPER}">
${lines.map(asHtml).join('\n')}
</div></body></html>
`;
}

function asHtml(line: EmailParagraph): string {
  if (typeof line === 'string') return `<p>${line.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</p>`;
  if ('code' in line) return `<p style="${CODE}">${line.code}</p>`;
  return `<p><a href="{{link}}" style="${BUTTON}">${line.button}</a></p>\n<p style="${SMALL}">{{link}}</p>`;
}
