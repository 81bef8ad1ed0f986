import { readFileSync, statSync } from 'node:fs'
import { systemErrorCode } from '../system-error-code.ts'

/** The variables of a process by name, as `process.env` has them. */
export type Variables = Readonly<Record<string, string | undefined>>

/** The text of a variable, which is empty when it is absent, or the problem with it. */
type VariableText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string }

const FILE_MAX_BYTES = 65_536

/** `<SERVICE>_PORT` can be the name of a setting too, so its value decides. */
const LINK_PORT_VALUE = /^(?:tcp|udp|sctp):\/\//

/**
 * Whether Kubernetes injected the address of a service instead of a port. A service named `multihub-grpc` makes it set
 * `MULTIHUB_GRPC_PORT=tcp://10.0.0.1:9090` in every pod of the namespace, which is not meant as a setting (R7).
 */
function isPortLink(variable: string, text: string): boolean {
  return variable.endsWith('_PORT') && LINK_PORT_VALUE.test(text)
}

/** The name of the variable that holds the path of a secret's file. */
export function fileVariableOf(variable: string): string {
  return `${variable}_FILE`
}

/** Reads a variable without the white space around it. The address of a service counts as absent. */
export function readVariable(variable: string, variables: Variables): string {
  const text = variables[variable]?.trim() ?? ''
  return isPortLink(variable, text) ? '' : text
}

/** Reads a secret: from its variable, or from the file that `<VARIABLE>_FILE` names (R7). */
export function readSecretVariable(variable: string, variables: Variables): VariableText {
  const text = readVariable(variable, variables)
  const file_variable = fileVariableOf(variable)
  const path = readVariable(file_variable, variables)
  if (path === '') return { ok: true, text }
  if (text !== '')
    return { ok: false, problem: `${variable} and ${file_variable} are both set: remove one of them` }
  return readSecretFile(file_variable, path)
}

function readSecretFile(variable: string, path: string): VariableText {
  try {
    if (statSync(path).size > FILE_MAX_BYTES)
      return { ok: false, problem: `${variable} names a file above ${FILE_MAX_BYTES} bytes` }
    const text = readFileSync(path, 'utf8').trim()
    return text === '' ? { ok: false, problem: `${variable} names an empty file` } : { ok: true, text }
  } catch (error) {
    return { ok: false, problem: `${variable} cannot be read (${systemErrorCode(error)})` }
  }
}
