import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { ROOT } from './sources/sources.ts'

/**
 * `npm run pack:cli [FOLDER]`: writes the package `@multihub/cli`, dist/cli without a folder. Its one file needs Node.js 20 or newer
 * and nothing else; `npm publish` or `npm install -g` take the folder.
 */
const FILE = 'multihub.cjs'

/** Runs before all other code, in words that every Node.js reads. The compiled code is kept where Node.js can. */
const START = `#!/usr/bin/env node
if (parseInt(process.versions.node, 10) < 20) {
  process.stderr.write('multihub needs Node.js 20 or newer; this is ' + process.versions.node + '\\n')
  process.exit(2)
}
;(require('node:module').enableCompileCache || Boolean)()
`

const folder = resolve(process.argv[2] ?? join(ROOT, 'dist/cli'))
const { version, license } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))

/** The version of the product is read from a file of the project, which the package does not have. */
const buildInfo: Plugin = {
  name: 'build info',
  setup({ onLoad }) {
    onLoad({ filter: /lib\/base\/build-info\.ts$/ }, () => ({
      contents: `export const readBuildInfo = () => (${JSON.stringify({ version, commit: '' })})`,
    }))
  },
}

const options: BuildOptions = {
  entryPoints: [join(ROOT, 'apps/cli/main.ts')],
  outfile: join(folder, FILE),
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  minify: true,
  legalComments: 'eof',
  banner: { js: START },
  plugins: [buildInfo],
  absWorkingDir: ROOT,
  logLevel: 'warning',
}

await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
const { warnings } = await build(options)
if (warnings.length > 0) throw new Error('the bundle has warnings')
await chmod(join(folder, FILE), 0o755)
await copyFile(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
await writeFile(
  join(folder, 'README.md'),
  'The command line of Multihub. `npm install -g @multihub/cli`, then `multihub login --url https://backoffice.example` and `multihub --help`.\n',
)
await writeFile(
  join(folder, 'package.json'),
  `${JSON.stringify(
    {
      name: '@multihub/cli',
      version,
      description: 'The command line of Multihub: for the operator, and for developers of merchants.',
      license,
      bin: { multihub: FILE },
      files: [FILE],
      engines: { node: '>=20' },
    },
    null,
    2,
  )}\n`,
)
process.stdout.write(`${join(folder, FILE)}\n`)
