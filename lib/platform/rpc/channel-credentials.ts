import { ChannelCredentials } from '@grpc/grpc-js'
import type { Tls, TlsMaterial } from './tls.ts'

/** How a gRPC client of this process proves itself, and whom it believes. */
export function channelCredentials(tls: Tls | undefined): ChannelCredentials {
  return tls === undefined ? ChannelCredentials.createInsecure() : new CurrentCredentials(tls)
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>

/**
 * Credentials that look at each new connection at what the files hold by then: a channel keeps those it was made with
 * as long as it lives. A class, because grpc-js takes nothing but its own.
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
  ): Connector {
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

function credentialsOf({ key, certificate, authority }: TlsMaterial): ChannelCredentials {
  return ChannelCredentials.createSsl(authority ?? null, key, certificate)
}
