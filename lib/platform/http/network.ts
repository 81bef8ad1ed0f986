import type { NetConnectOpts, Server } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Address, Listening } from '#lib/platform/process/listen.ts'

/** A network in memory, in the place of that of the machine. */
export interface Network {
  /** Makes a server reachable at an address of the network. */
  listen(server: Server, address: Address): Promise<Listening>
  /** Opens a connection of bytes, such as that to the virus scanner. */
  connect(address: NetConnectOpts): Duplex
  /** Carries the requests of one HTTP client. */
  createDispatcher(): Pick<Dispatcher, 'dispatch' | 'destroy'>
  /** Returns the addresses of a host. */
  lookup(hostname: string): Promise<readonly string[]>
}

let replacement: Network | undefined

/** The network that simulation put in the place of the machine's; `undefined` in every real process. */
export function simulatedNetwork(): Network | undefined {
  return replacement
}

/** Replaces the network of this process, for simulation only, until the returned function is called. */
export function useNetwork(network: Network): () => void {
  replacement = network
  return () => {
    replacement = undefined
  }
}
