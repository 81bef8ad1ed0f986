import type { Server, TlsOptions } from 'node:tls'
import { contextOf, type Tls } from './tls.ts'

/** So long a new connection may take to agree on its keys; Node would wait for two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000

/** The options of a server that proves itself and, where there is an authority, asks callers for a certificate. */
export function secureOptions(tls: Tls): TlsOptions {
  const material = tls.current()
  const requestCert = material.authority !== undefined
  return { ...contextOf(material), requestCert, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }
}

/** Gives each new connection of a server what the files hold by then; connections that are open stay as they are. */
export function followFiles(server: Server, tls: Tls): void {
  tls.onChange((material) => server.setSecureContext(contextOf(material)))
}
