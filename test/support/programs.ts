import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Finds a program in these folders or on PATH. Returns undefined if it is in none of them. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const on_path = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return [...folders, ...on_path].map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}
