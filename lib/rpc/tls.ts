import { readFile } from 'node:fs/promises'
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js'
import { ConfigError } from '#lib/config/config.ts'

/** The PEM texts by which a process proves itself and judges others, as a server and as a client. */
export interface TlsMaterial {
  readonly key: Buffer
  readonly certificate: Buffer
  /** With it, gRPC callers must show a certificate that it signed, and servers that we call must have one too. */
  readonly authority?: Buffer
}

/** Where the PEM files are. */
export interface TlsFiles {
  readonly key?: string | undefined
  readonly certificate?: string | undefined
  readonly authority?: string | undefined
}

/** Reads the files once, at start; `undefined` when none is named, which means plain text. */
export async function readTls({ key, certificate, authority }: TlsFiles): Promise<TlsMaterial | undefined> {
  if (key === undefined && certificate === undefined && authority === undefined) return undefined
  if (key === undefined || certificate === undefined)
    throw new ConfigError(['MULTIHUB_TLS_KEY and MULTIHUB_TLS_CERTIFICATE must be set together'])
  return {
    key: await readFile(key),
    certificate: await readFile(certificate),
    ...(authority === undefined ? {} : { authority: await readFile(authority) }),
  }
}

/** How a gRPC server of this process proves itself, and what it asks of callers. */
export function serverCredentials(tls: TlsMaterial | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  const pair = { private_key: tls.key, cert_chain: tls.certificate }
  return ServerCredentials.createSsl(tls.authority ?? null, [pair], tls.authority !== undefined)
}

/** How a gRPC client of this process proves itself, and whom it believes. */
export function channelCredentials(tls: TlsMaterial | undefined): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure()
  return ChannelCredentials.createSsl(tls.authority ?? null, tls.key, tls.certificate)
}
