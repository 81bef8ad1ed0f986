import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import { PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import { canTransition } from '../../services/payments/domain/transition.ts'
import { importsOf } from '../sources/import-graph.ts'
import { isTest, readSources } from '../sources/sources.ts'

/** The imports between parts: the name of each part with the parts that it imports. */
type PartGraph = ReadonlyMap<string, ReadonlySet<string>>

/** The drawings of the imports between the parts of the system, and between the folders of `lib`, in Mermaid. */
export async function partsDiagrams(): Promise<string> {
  const code = (await readSources()).filter((file) => !isTest(file))
  const imports = code.flatMap(importsOf)
  const drawings = [TOP, LIB_FOLDER].map((part) =>
    flowchart(imports.map(({ from, to }) => [part.exec(from)?.[0], part.exec(to)?.[0]])),
  )
  return drawings.join('\n\n')
}

const TOP = /^(?:(services\/[\w-]+)|(app|operations|gateway|lib|gen)(?=\/)|(main\.ts$))/
const LIB_FOLDER = /^lib\/[\w-]+(?=\/)/

function flowchart(edges: readonly (readonly [string | undefined, string | undefined])[]): string {
  const parts = new Map<string, Set<string>>()
  for (const [from, to] of edges) {
    if (from === undefined || to === undefined || from === to) continue
    parts.set(from, (parts.get(from) ?? new Set()).add(to))
  }
  const lines = [...parts]
    .flatMap(([from, targets]) => [...targets].map((to) => [from, to] as const))
    .filter(([from, to]) => !isReachedThroughOthers(parts, from, to))
    .map(([from, to]) => `  ${nodeOf(from)} --> ${nodeOf(to)}`)
  return ['```mermaid', 'flowchart TD', ...lines.sort(), '```'].join('\n')
}

/** Mermaid has no slashes and dots in the ids of nodes, so the name is a label. */
function nodeOf(part: string): string {
  return `${part.replace(/\W/g, '_')}["${part}"]`
}

/** Whether the arrow follows from other arrows of the drawing, so that it need not be drawn. */
function isReachedThroughOthers(parts: PartGraph, from: string, to: string): boolean {
  const seen = new Set([...(parts.get(from) ?? [])].filter((part) => part !== to))
  // The set grows while it is walked; each part is walked once.
  for (const part of seen) for (const next of parts.get(part) ?? []) if (part !== to) seen.add(next)
  return seen.has(to)
}

/** The states of a payment as a Mermaid diagram, drawn from the table of the transitions (P6). */
export function statesDiagram(): string {
  const statuses = PAYMENT_STATUSES.names
  const lines = statuses.flatMap((status) =>
    statuses.flatMap((to) => {
      const directions = DIRECTIONS.names.filter((direction) => canTransition({ direction, status }, to))
      const label = directions.length === DIRECTIONS.names.length ? '' : ': deposits only'
      return directions.length === 0 ? [] : [`  ${status} --> ${to}${label}`]
    }),
  )
  return ['```mermaid', 'stateDiagram-v2', '  [*] --> created', ...lines, '```'].join('\n')
}
