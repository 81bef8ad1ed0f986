import { type ReactNode, useContext } from 'react'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { useRpc } from '../call/use-rpc.ts'
import { MerchantZoneContext, usePreference } from './preferences.ts'

/** Zones of merchants hardly change. */
const EVERY_MS = 60_000

/** A part of the page about one merchant: its times can be read in the zone of the merchant. Without one, the zone around it stays. */
export function MerchantZone({
  merchant_id,
  children,
}: {
  readonly merchant_id: string
  readonly children: ReactNode
}): ReactNode {
  const zone = usePreference('zone')
  const outer = useContext(MerchantZoneContext)
  const { data } = useRpc(
    MerchantService.method.getMerchant,
    { merchantId: merchant_id },
    { every_ms: EVERY_MS, enabled: zone === 'merchant' && merchant_id !== '' },
  )
  const own = merchant_id === '' ? outer : (data?.merchant?.timezone ?? '')
  return <MerchantZoneContext value={own}>{children}</MerchantZoneContext>
}
