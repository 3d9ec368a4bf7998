/** Schemes of URLs that name an app on the user's device (RFC 8252 section 7.1), and no others. Pure. */

/** What browsers, mail programs and operating systems open themselves: as code, as data, as a file, or as a message to write. */
const NOT_OF_APPS: ReadonlySet<string> = new Set(
  (
    'about android-app blob browser chrome chrome-error chrome-untrusted cid content data devtools edge file filesystem ftp ftps geo ' +
    'http https intent jar javascript ldap livescript magnet mailto mhtml mid mms mocha ms-its news nntp opera resource rtsp ' +
    'sftp sip sips sms smsto ssh tel telnet urn vbscript view-source wais webcal ws wss wyciwyg x-javascript xmpp'
  ).split(' '),
);

/** Whether a scheme can be one that an app has registered. @param scheme in lower case, without its colon */
export function isAppScheme(scheme: string): boolean {
  return /^[a-z][a-z0-9+.-]*$/.test(scheme) && !NOT_OF_APPS.has(scheme);
}
