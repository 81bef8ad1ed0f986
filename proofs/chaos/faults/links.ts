import { startTcpProxy, type TcpProxy } from '../../../test/support/tcp-proxy.ts'
import type { Choices } from '../../simulation/parts/random.ts'
import type { Disturbance } from './disturbance.ts'

/** The way of one process to one server, which no other process uses. */
export interface Link {
  readonly name: string
  readonly proxy: TcpProxy
  is_broken: boolean
}

/** Beyond the limits of calls, and beyond the readings after which the run of a process counts as dead. */
const HELD_MS = { low: 2_000, high: 12_000 }

/** A connection that is held delivers everything later, as TCP does after a partition, also what a dead process has sent. */
const HARMS = {
  'cut link': async (proxy: TcpProxy) => proxy.cut(),
  partition: async (proxy: TcpProxy) => proxy.stall(),
  'hold requests': async (proxy: TcpProxy) => proxy.stall(['to server']),
  'hold responses': async (proxy: TcpProxy) => proxy.stall(['to client']),
} as const
const KINDS = Object.keys(HARMS) as (keyof typeof HARMS)[]

/** Opens a link of a process to a server of this machine. Cut its proxy in the end. */
export async function openLink(
  process: string,
  server: string,
  url: string,
): Promise<[link: Link, url: string]> {
  const { port } = new URL(url)
  const proxy = await startTcpProxy('127.0.0.1', Number(port))
  const link = { name: `${process} to ${server}`, proxy, is_broken: false }
  return [link, url.replace(`:${port}`, `:${proxy.port}`)]
}

/** Draws a fault of a link; `undefined` when another fault has the link that was drawn. */
export function drawLinkFault(links: readonly Link[], choices: Choices): Disturbance | undefined {
  const link = choices.pick(links)
  const hold_ms = choices.between(HELD_MS.low, HELD_MS.high)
  const kind = choices.pick(KINDS)
  if (link.is_broken) return undefined
  return {
    kind,
    target: link.name,
    kills: 0,
    hold_ms,
    async harm() {
      link.is_broken = true
      await HARMS[kind](link.proxy)
    },
    async repair() {
      await link.proxy.restore()
      link.is_broken = false
    },
  }
}
