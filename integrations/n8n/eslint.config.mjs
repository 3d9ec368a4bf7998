/**
 * The lint rules of n8n for node packages, with all requirements of n8n Cloud. They are those of `n8n-node lint`, assembled here
 * because its package installs 250 others that lint does not need. The project checks formatting and the rest.
 */
import js from '@eslint/js';
import { n8nCommunityNodesPlugin } from '@n8n/eslint-plugin-community-nodes';
import { globalIgnores } from 'eslint/config';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import importX from 'eslint-plugin-import-x';
import nodesBase from 'eslint-plugin-n8n-nodes-base';
import typescript from 'typescript-eslint';

const ofNodes = n8nCommunityNodesPlugin.configs.recommended;

export default typescript.config(
  globalIgnores(['dist', '*.mjs']),
  {
    files: ['**/*.ts'],
    extends: [js.configs.recommended, typescript.configs.recommended, ofNodes, importX.configs['flat/recommended']],
    rules: { 'prefer-spread': 'off', 'no-console': 'error' },
  },
  {
    plugins: { 'n8n-nodes-base': nodesBase },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver()] },
  },
  {
    files: ['package.json'],
    extends: [ofNodes],
    rules: nodesBase.configs.community.rules,
    languageOptions: { parser: typescript.parser, parserOptions: { extraFileExtensions: ['.json'] } },
  },
  {
    files: ['credentials/**/*.ts'],
    rules: {
      ...nodesBase.configs.credentials.rules,
      'n8n-nodes-base/cred-class-field-documentation-url-miscased': 'off',
      'n8n-nodes-base/cred-class-field-type-options-password-missing': 'off',
    },
  },
  {
    files: ['nodes/**/*.ts'],
    rules: {
      ...nodesBase.configs.nodes.rules,
      'n8n-nodes-base/node-class-description-inputs-wrong-regular-node': 'off',
      'n8n-nodes-base/node-class-description-outputs-wrong': 'off',
      'n8n-nodes-base/node-param-type-options-max-value-present': 'off',
    },
  },
);
