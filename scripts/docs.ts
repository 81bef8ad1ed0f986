import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ENVELOPE_METHODS_PATH, envelopeMethodsText } from './docs/envelope-methods.ts'

const ROOT = join(import.meta.dirname, '..')

// The pages describe the methods of the registry, so it must be current before they are imported.
await writeFile(join(ROOT, ENVELOPE_METHODS_PATH), envelopeMethodsText())
const { generatedFiles } = await import('./docs/pages.ts')
for (const { path, wanted } of await generatedFiles()) await writeFile(join(ROOT, path), wanted)

// Warnings, not errors: unclear wordings of comments, messages and pages. `npm run docs -- wordings` lists them.
const { unclearIn } = await import('./docs/wordings.ts')
const { readTexts } = await import('../test/architecture/sources.ts')
const unclear = (await readTexts()).flatMap(unclearIn)
if (process.argv[2] === 'wordings') for (const line of unclear) console.log(line)
else console.log(`${unclear.length} unclear wordings: npm run docs -- wordings lists them`)
