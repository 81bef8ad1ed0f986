import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatedFiles } from './docs/pages.ts'
import { unclearIn } from './docs/wordings.ts'
import { ROOT, readTexts } from './sources/sources.ts'

for (const { path, wanted } of await generatedFiles()) await writeFile(join(ROOT, path), wanted)

// Warnings, not errors: unclear wordings of comments, messages and pages. `npm run docs -- wordings` lists them.
const unclear = (await readTexts()).flatMap(unclearIn)
if (process.argv[2] === 'wordings') for (const line of unclear) console.log(line)
else console.log(`${unclear.length} unclear wordings: npm run docs -- wordings lists them`)
