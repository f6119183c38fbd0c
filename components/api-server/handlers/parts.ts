/** Parts: what handlers work with. `start/serving.ts` builds them once. */
import type { Dialect } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { ContinueTokens } from '../codec/continue-token.ts'
import type { Cbor } from '../encoding/cbor-form.ts'
import type { YamlBodies } from '../encoding/yaml-bodies.ts'
import type { Faults } from '../faults/faults.ts'
import type { Registry } from '../registry/registry.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import type { Caches } from '../watch-cache/caches.ts'
import type { OpenWatches } from './open-watches.ts'
import type { CountWatchEvents } from './watch-metrics.ts'

export interface Parts {
  readonly dialect: Dialect
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Log
  readonly cache: Caches
  readonly registry: Registry
  readonly authorizer: Authorizer
  readonly continueTokens: ContinueTokens
  /** Undefined while its feature gate is off. */
  readonly cbor: Cbor | undefined
  readonly yaml: YamlBodies
  readonly openWatches: OpenWatches
  readonly faults: Faults
  /** Counts what watches are sent, for metrics. */
  readonly countWatchEvents: CountWatchEvents
}

/** Handles a request that the router has matched to a resource. Throws a StatusError to reject it. */
export type ResourceHandler = (
  context: RequestContext,
  resource: Resource,
  parts: Parts,
) => Promise<Answer>
