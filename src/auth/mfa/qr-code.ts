/** Draws a QR code as SVG, here and not by another server: it contains a seed. Pure. */
import { renderSVG } from 'uqr';

/** @param text the content of the code; the picture contains it only as squares */
export function renderQrCode(text: string): string {
  return renderSVG(text, { ecc: 'M', border: 4, pixelSize: 4 });
}
