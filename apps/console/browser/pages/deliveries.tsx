import type { ReactNode } from 'react'
import { type Delivery, DeliverySchema } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { type Destination, DestinationSchema } from '#gen/multihub/notifier/v1/destination_pb.ts'
import { delivery_acts, destination_acts, replayDeliveries } from '../../forms/deliveries.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { Tries } from '../parts/tries.tsx'
import { DeliveryBody } from './delivery-body.tsx'
import { DestinationTries, triesOf } from './destination-tries.tsx'

const deliveries: ListSpec<Delivery> = {
  path: '/deliveries',
  title: 'Deliveries',
  question:
    'Which callbacks did not arrive, the longest waiting first. With merchant: all callbacks of a merchant, the newest first.',
  desc: DeliverySchema,
  list: DeliveryService.method.listDeliveries,
  items: 'deliveries',
  id: 'deliveryId',
  columns: [
    'delivery_id',
    'event',
    'status',
    'trouble',
    'attempts',
    'merchant_id',
    'payment_id',
    'url',
    'create_time',
  ],
  cells: { attempts: ({ attempts }) => <Tries tries={triesOf(attempts)} /> },
  more: ({ deliveryId }) => <DeliveryBody key={deliveryId} delivery_id={deliveryId} />,
  filters: {
    status: 'status',
    trouble: 'trouble',
    merchant: 'merchant_id',
    env: 'environment',
    event: 'event',
    payment: 'payment_id',
    endpoint: 'endpoint_id',
    destination: 'destination_key',
    created: 'created_from',
  },
  get: { method: DeliveryService.method.getDelivery, field: 'delivery' },
  acts: delivery_acts,
  empty:
    'Every callback has arrived. merchant: shows those of a merchant; they go to its endpoints and to the addresses of payments.',
}

/** The list of callbacks. */
export function DeliveriesPage(): ReactNode {
  return (
    <ListPage spec={deliveries}>
      <ActBar acts={[replayDeliveries]} item={undefined} is_main={false} />
    </ListPage>
  )
}

const destinations: ListSpec<Destination> = {
  path: '/destinations',
  title: 'Destinations',
  question: 'Which receivers of callbacks fail, what waits for them, and when they are tried next.',
  desc: DestinationSchema,
  list: DeliveryService.method.listDestinations,
  items: 'destinations',
  id: 'destinationKey',
  columns: ['origin', 'state', 'merchant_id', 'failures', 'waiting_count', 'last_failure', 'next_probe_time'],
  filters: { state: 'state' },
  get: { method: DeliveryService.method.getDestination, field: 'destination' },
  acts: destination_acts,
  more: (destination) => <DestinationTries destination={destination} />,
  empty: 'Every receiver takes its callbacks.',
}

/** The list of receivers of callbacks. */
export function DestinationsPage(): ReactNode {
  return <ListPage spec={destinations} />
}
