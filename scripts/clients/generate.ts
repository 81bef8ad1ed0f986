import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from '../sources/sources.ts'
import { clientFiles } from './files.ts'

for (const { path, text } of clientFiles()) {
  await mkdir(dirname(join(ROOT, path)), { recursive: true })
  await writeFile(join(ROOT, path), text)
}
