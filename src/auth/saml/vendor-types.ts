/**
 * The types of `@node-saml/node-saml` and `@xmldom/xmldom`, as far as they are used here. `tsconfig.json` replaces the
 * packages' own with them, which would bring browser types into the whole program. No code.
 */

/** A node of a document. */
export interface XmlNode {
  readonly nodeType: number;
  readonly parentNode: XmlNode | null;
}

export interface XmlElement extends XmlNode {
  readonly localName: string;
  readonly namespaceURI: string | null;
  readonly textContent: string | null;
  readonly childNodes: ArrayLike<XmlNode>;
  readonly attributes: ArrayLike<{ readonly name: string; readonly value: string }>;
  /** An empty string where there is no such attribute. */
  getAttribute(name: string): string;
  hasAttribute(name: string): boolean;
}

export interface XmlDocument {
  readonly documentElement: XmlElement | null | undefined;
}

export declare class DOMParser {
  constructor(options: {
    readonly errorHandler: (level: 'warning' | 'error' | 'fatalError', message: unknown) => void;
  });
  parseFromString(text: string, type: 'text/xml'): XmlDocument;
}

/** The settings of the library that are used here. */
export interface SamlSettings {
  /** Our own entity id. */
  readonly issuer: string;
  readonly callbackUrl: string;
  readonly audience: false;
  readonly entryPoint: string;
  readonly logoutUrl?: string;
  /** Certificates of the provider. */
  readonly idpCert: string[];
  readonly idpIssuer: string;
  readonly privateKey?: string;
  readonly decryptionPvk?: string;
  readonly identifierFormat: string | null;
  readonly signatureAlgorithm: 'sha256';
  readonly digestAlgorithm: 'sha256';
  /** -1 for times that the caller checks. */
  readonly acceptedClockSkewMs: -1;
  readonly wantAssertionsSigned: boolean;
  readonly wantAuthnResponseSigned: boolean;
  readonly disableRequestedAuthnContext: boolean;
  /** Messages of the POST binding are not compressed. */
  readonly skipRequestCompression: boolean;
  readonly generateUniqueId: () => string;
}

/** A user, as far as logout messages name one. */
export interface SamlLogoutUser {
  readonly issuer: string;
  readonly nameID: string;
  readonly nameIDFormat: string;
  readonly nameQualifier?: string;
  readonly spNameQualifier?: string;
  readonly sessionIndex?: string;
}

export declare class SAML {
  constructor(settings: SamlSettings);
  getAuthorizeUrlAsync(relayState: string, host: undefined, options: object): Promise<string>;
  getAuthorizeMessageAsync(relayState: string): Promise<Readonly<Record<string, string>>>;
  validatePostResponseAsync(container: {
    readonly SAMLResponse: string;
  }): Promise<{ readonly profile: { getAssertionXml?(): string } | null }>;
  validatePostRequestAsync(container: { readonly SAMLRequest: string }): Promise<unknown>;
  getLogoutUrlAsync(user: SamlLogoutUser, relayState: string, options: object): Promise<string>;
  getLogoutResponseUrlAsync(
    request: { readonly ID: string },
    relayState: string,
    options: object,
    success: boolean,
  ): Promise<string>;
}
