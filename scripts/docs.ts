import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { METHOD_REGISTRY_PATH, methodRegistryText } from './docs/method-registry.ts'

const ROOT = join(import.meta.dirname, '..')

// The pages describe the methods of the registry, so it must be current before they are imported.
await writeFile(join(ROOT, METHOD_REGISTRY_PATH), methodRegistryText())
const { generatedFiles } = await import('./docs/pages.ts')
for (const { path, wanted } of await generatedFiles()) await writeFile(join(ROOT, path), wanted)
