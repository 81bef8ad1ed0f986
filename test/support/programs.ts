import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** Finds a program in these folders or on PATH. Returns undefined if it is in none of them. */
export async function findProgram(
  name: string,
  folders: readonly string[] = [],
): Promise<string | undefined> {
  const on_path = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  for (const folder of [...folders, ...on_path]) {
    const program = join(folder, name)
    if (await isExecutable(program)) return program
  }
  return undefined
}

function isExecutable(program: string): Promise<boolean> {
  return access(program, constants.X_OK).then(
    () => true,
    () => false,
  )
}
