// Builds the package: node clients/typescript/build.ts [FOLDER]. Modules and types, each for ESM and for CommonJS.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
const folder = process.argv[2] ?? here
const tsc = join(here, '..', '..', 'node_modules', '.bin', 'tsc')

for (const [kind, config, type] of [
  ['esm', 'tsconfig.json', 'module'],
  ['cjs', 'tsconfig.cjs.json', 'commonjs'],
] as const) {
  const out = join(folder, 'dist', kind)
  rmSync(out, { recursive: true, force: true })
  execFileSync(tsc, ['-p', join(here, config), '--outDir', out], { stdio: 'inherit' })
  mkdirSync(out, { recursive: true })
  writeFileSync(join(out, 'package.json'), `${JSON.stringify({ type })}\n`)
}
copyFileSync(join(here, '..', '..', 'LICENSE'), join(folder, 'LICENSE'))
if (folder !== here)
  for (const name of ['package.json', 'README.md']) copyFileSync(join(here, name), join(folder, name))
