/**
 * `plugins/tsconfig.json`: how editors and `tsc` read the scripts of plugins, so that they accept what the sandbox runs and
 * nothing else: types that can be stripped, and neither Node nor a browser.
 */
export const AUTHOR_PROJECT = `${JSON.stringify(
  {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024'],
      types: [],
      module: 'esnext',
      moduleResolution: 'bundler',
      moduleDetection: 'force',
      allowImportingTsExtensions: true,
      noEmit: true,
      strict: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
    },
    include: ['.'],
  },
  null,
  2,
)}\n`;
