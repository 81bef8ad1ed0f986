import { readFile, writeFile } from 'node:fs/promises'

/** The row of a planted fault in a table of results: its name and the seed that found it. */
const ROW = /^\| (?<name>[^|]+) \| (?<seed>[0-9]+) \|/

/** The seed with which each planted fault was found, from the tables of a page. */
export async function readKnownSeeds(path: string): Promise<ReadonlyMap<string, number>> {
  const rows = (await readFile(path, 'utf8')).split('\n').map((line) => ROW.exec(line)?.groups)
  return new Map(rows.flatMap((row) => (row ? [[row['name'] ?? '', Number(row['seed'])] as const] : [])))
}

/** Moves the row of a planted fault to the top of the first table, which has the present seeds. */
export async function recordFinding(
  path: string,
  name: string,
  seed: number,
  seconds: number,
): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => !line.startsWith(`| ${name} | `))
  const top = lines.findIndex((line) => line.startsWith('| Planted fault |')) + 2
  await writeFile(path, lines.toSpliced(top, 0, `| ${name} | ${seed} | ${seconds} s |`).join('\n'))
}
