/** Draws a QR code as SVG, here and not by another server: it holds a seed. Pure. */
import { renderSVG } from 'uqr';

/** @param text what the code says; it is in the picture only as squares */
export function qrOf(text: string): string {
  return renderSVG(text, { ecc: 'M', border: 4, pixelSize: 4 });
}
