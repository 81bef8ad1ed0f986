import { ChannelCredentials } from '@grpc/grpc-js'
import type { Tls, TlsMaterial } from '#lib/http/tls.ts'

/** The channel credentials of this process's gRPC clients: its certificate and the certificate authority that it trusts. */
export function channelCredentials(tls: Tls | undefined): ChannelCredentials {
  return tls === undefined ? ChannelCredentials.createInsecure() : new CurrentCredentials(tls)
}

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>

/**
 * Credentials that use the present TLS files for each new connection. A channel of grpc-js keeps its credentials for its
 * whole life, and asks for a connector before it connects, so the files are chosen in `connect`. This is a class because
 * grpc-js accepts only subclasses of its own.
 */
class CurrentCredentials extends ChannelCredentials {
  readonly #latest: () => ChannelCredentials

  constructor(tls: Tls) {
    super()
    let latest = credentialsOf(tls.current())
    tls.onChange((material) => {
      latest = credentialsOf(material)
    })
    this.#latest = () => latest
  }

  override _isSecure(): boolean {
    return true
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this
  }

  override _createSecureConnector(
    ...target: Parameters<ChannelCredentials['_createSecureConnector']>
  ): SecureConnector {
    const first = this.#latest()._createSecureConnector(...target)
    return {
      connect: (socket) =>
        this.#latest()
          ._createSecureConnector(...target)
          .connect(socket),
      waitForReady: () => first.waitForReady(),
      getCallCredentials: () => first.getCallCredentials(),
      destroy: () => first.destroy(),
    }
  }
}

function credentialsOf({ key, certificate, ca }: TlsMaterial): ChannelCredentials {
  return ChannelCredentials.createSsl(ca ?? null, key, certificate)
}
