/**
 * `plugins/tsconfig.json`: makes editors and `tsc` accept exactly what the sandbox runs: strippable types, without Node or
 * browser globals.
 */
export const TSCONFIG_TEMPLATE = `${JSON.stringify(
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
