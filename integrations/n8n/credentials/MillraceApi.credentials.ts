/** The credentials of both nodes: the URL of Millrace, and an API key. */
import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  Icon,
  INodeProperties,
} from 'n8n-workflow';

export class MillraceApi implements ICredentialType {
  name = 'millraceApi';

  displayName = 'Millrace API';

  icon: Icon = { light: 'file:../icons/millrace.svg', dark: 'file:../icons/millrace.dark.svg' };

  documentationUrl = 'https://millrace.example/docs/automation';

  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      default: '',
      required: true,
      placeholder: 'https://api.example.org',
      description: 'The URL of Millrace, without the path of a collection',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      placeholder: 'mr_…',
      description: 'An API key of Millrace. Its policies decide what the nodes can read and write.',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { authorization: '=Bearer {{$credentials.apiKey}}' } },
  };

  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}', url: '/auth/me' },
  };
}
