import type { EmailTexts } from './locale.ts';

export const GERMAN_EMAIL_TEXTS: EmailTexts = {
  emails: {
    'verify-email': {
      subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
      lines: [
        'Jemand, hoffentlich Sie, verwendet diese Adresse für ein Konto bei {{site}}.',
        'Um sie zu bestätigen, öffnen Sie innerhalb von 24 Stunden diesen Link:',
        { button: 'Adresse bestätigen' },
        'Wenn Sie es nicht waren, müssen Sie nichts tun.',
      ],
    },
    'change-email': {
      subject: 'Bestätigen Sie Ihre neue E-Mail-Adresse',
      lines: [
        'Das Konto {{name}} bei {{site}} soll ab jetzt diese Adresse verwenden.',
        'Wenn Sie einverstanden sind, öffnen Sie innerhalb von 24 Stunden diesen Link:',
        { button: 'Diese Adresse verwenden' },
        'Wenn Sie es nicht waren, müssen Sie nichts tun: Das Konto behält seine alte Adresse.',
      ],
    },
    'reset-password': {
      subject: 'Neues Passwort festlegen',
      lines: [
        'Jemand, hoffentlich Sie, möchte ein neues Passwort für das Konto {{name}} bei {{site}} festlegen.',
        'Öffnen Sie dazu innerhalb von 30 Minuten diesen Link:',
        { button: 'Neues Passwort festlegen' },
        'Er funktioniert einmal. Wenn Sie es nicht waren, müssen Sie nichts tun: Ihr Passwort bleibt.',
      ],
    },
    'magic-link': {
      subject: 'Bei {{site}} anmelden',
      lines: [
        'Jemand, hoffentlich Sie, möchte sich mit dem Konto {{name}} bei {{site}} anmelden.',
        'Öffnen Sie dazu innerhalb von 15 Minuten diesen Link, in dem Browser, in dem Sie ihn angefordert haben:',
        { button: 'Anmelden' },
        'Oder geben Sie dort diesen Code ein:',
        { code: '{{code}}' },
        'Beide funktionieren einmal. Geben Sie den Code niemandem: {{site}} fragt nie am Telefon oder per E-Mail danach.',
        'Wenn Sie es nicht waren, müssen Sie nichts tun.',
      ],
    },
    'new-sign-in': {
      subject: 'Neue Anmeldung bei {{site}}',
      lines: [
        'Mit dem Konto {{name}} hat sich jemand aus einem Netz angemeldet, das es bisher nicht verwendet hat.',
        'Zeit: {{time}}',
        'IP-Adresse: {{ip}}',
        'Gerät: {{device}}',
        'Wenn Sie es waren, müssen Sie nichts tun. Wenn nicht, legen Sie ein neues Passwort fest und beenden Sie die Sitzung in der Liste Ihrer Geräte.',
      ],
    },
    'password-changed': {
      subject: 'Ihr Passwort wurde geändert',
      lines: [
        'Das Passwort des Kontos {{name}} bei {{site}} wurde geändert ({{time}}).',
        'Wenn Sie es nicht waren, legen Sie über „Passwort vergessen“ sofort ein neues fest, und sagen Sie es den Betreibern von {{site}}.',
      ],
    },
    'sign-in-method-changed': {
      subject: 'Eine Anmeldemethode wurde geändert',
      lines: [
        '{{change}}',
        'Das betrifft das Konto {{name}} bei {{site}} ({{time}}).',
        'Wenn Sie es nicht waren, legen Sie sofort ein neues Passwort fest, und sagen Sie es den Betreibern von {{site}}.',
      ],
    },
    'email-changed': {
      subject: 'Ihre E-Mail-Adresse wurde geändert',
      lines: [
        'Das Konto {{name}} bei {{site}} hat jetzt eine andere E-Mail-Adresse: {{newEmail}} ({{time}}).',
        'E-Mails zu diesem Konto kommen nicht mehr hier an. Wenn Sie es nicht waren, sagen Sie es sofort den Betreibern von {{site}}.',
      ],
    },
    test: {
      subject: 'Der E-Mail-Versand funktioniert',
      lines: [
        'Sie haben diese Test-E-Mail von {{site}} angefordert. Sie ist angekommen: Der E-Mail-Versand funktioniert.',
      ],
    },
  },
  changes: {
    'totp-added': 'Eine Authenticator-App wurde hinzugefügt.',
    'totp-removed': 'Die Authenticator-App wurde entfernt: Bei der Anmeldung wird kein Code mehr verlangt.',
    'passkey-added': 'Ein Passkey wurde hinzugefügt.',
    'passkey-removed': 'Ein Passkey wurde entfernt.',
    'recovery-codes-regenerated': 'Neue Wiederherstellungscodes wurden erstellt. Die alten gelten nicht mehr.',
    'provider-linked': 'Ein Konto bei einem anderen Anbieter wurde verbunden. Mit ihm kann man sich jetzt anmelden.',
    'provider-unlinked':
      'Das Konto bei einem anderen Anbieter wurde getrennt. Mit ihm kann man sich nicht mehr anmelden.',
  },
};
