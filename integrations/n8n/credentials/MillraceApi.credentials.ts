/** The credentials of both nodes: where Millrace runs, and an API key of it. Not here: the requests (nodes/api/requests.ts). */
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
      description: 'Where Millrace runs, without the path of a collection',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      placeholder: 'mr_…',
      description: 'A key of Millrace. Its policies say what the nodes may read and write.',
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
