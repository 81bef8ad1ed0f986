import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Whose code uses the processor: the product's, the simulation's, or Node.js by itself, such as its garbage
 * collection.
 */
type CodeOwner = 'product' | 'simulation' | 'node'

/** The share of the processor time of each owner, between 0 and 1. */
export type ProcessorShares = Readonly<Record<CodeOwner, number>>

const ROOT = join(import.meta.dirname, '..', '..')

/** Starts to record what the processor does. The returned function ends the recording. */
export async function startProfile(): Promise<() => Promise<ProcessorShares>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    return sharesOf(profile)
  }
}

/**
 * Divides the time of a profile. Code of a package and of Node.js counts for the part of the project that called it. Idle
 * time does not count.
 */
function sharesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): ProcessorShares {
  const owners = new Map<number, CodeOwner>()
  const by_id = new Map(nodes.map((node) => [node.id, node]))
  const pending: (readonly [Profiler.ProfileNode | undefined, CodeOwner])[] = [[nodes[0], 'node']]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, caller] = next
    if (node === undefined) continue
    const owner = ownerOf(node.callFrame.url) ?? caller
    owners.set(node.id, owner)
    for (const child of node.children ?? []) pending.push([by_id.get(child), owner])
  }
  const idle = nodes.find(({ callFrame }) => callFrame.functionName === '(idle)')?.id
  const times = { product: 0, simulation: 0, node: 0 }
  for (const [index, sample] of samples.entries()) {
    if (sample !== idle) times[owners.get(sample) ?? 'node'] += timeDeltas[index] ?? 0
  }
  const total = times.product + times.simulation + times.node
  return {
    product: times.product / total,
    simulation: times.simulation / total,
    node: times.node / total,
  }
}

/** Whose file it is; `undefined` for one of a package or of Node.js. */
function ownerOf(url: string): CodeOwner | undefined {
  const path = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : '..'
  if (path.startsWith('..') || path.includes('node_modules')) return undefined
  return /^(?:proofs|test)[/\\]/.test(path) ? 'simulation' : 'product'
}
