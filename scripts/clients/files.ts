import { goFiles } from './go.ts'
import { phpFiles } from './php.ts'
import { pythonFiles } from './python.ts'
import { clientModel } from './schema.ts'
import type { GeneratedText } from './texts.ts'
import { typescriptFiles } from './typescript.ts'

/** Every generated file of the clients, made from the descriptors of the public methods. */
export function clientFiles(): readonly GeneratedText[] {
  const model = clientModel()
  return [...typescriptFiles(model), ...pythonFiles(model), ...goFiles(model), ...phpFiles(model)]
}
