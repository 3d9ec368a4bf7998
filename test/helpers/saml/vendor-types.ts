/**
 * The types of `xml-crypto` as far as tests use them; its own import the types of browsers (see
 * src/auth/saml/vendor-types.ts).
 */

export declare class SignedXml {
  constructor(options: { readonly privateKey: string; readonly publicCert?: string });
  signatureAlgorithm: string;
  canonicalizationAlgorithm: string;
  addReference(reference: {
    readonly xpath: string;
    readonly transforms: readonly string[];
    readonly digestAlgorithm: string;
    readonly uri?: string;
  }): void;
  computeSignature(
    xml: string,
    options: {
      readonly prefix: string;
      readonly location: { readonly reference: string; readonly action: 'after' | 'append' | 'prepend' };
    },
  ): void;
  getSignedXml(): string;
}
