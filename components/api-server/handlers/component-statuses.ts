/** component-statuses: the legacy list of the control plane's parts; what this server can vouch for is its store. */
import { notFound } from '../../machinery/status-error.ts'
import { answerJson } from '../respond.ts'
import type { HealthCheck } from './health.ts'
import type { ResourceHandler } from './parts.ts'

const storeCheck = 'etcd'

/** Serves get and list of componentstatuses from the health checks. */
export function listComponentStatuses(checks: readonly HealthCheck[]): ResourceHandler {
  return async (context, resource) => {
    const why = checks.find(({ name }) => name === storeCheck)?.check()
    const status = {
      metadata: { name: `${storeCheck}-0` },
      conditions: [
        {
          type: 'Healthy',
          status: why === undefined ? 'True' : 'False',
          message: why ?? 'ok',
        },
      ],
    }
    const typed = { kind: resource.kind, apiVersion: 'v1' }
    context.warnings.push('v1 ComponentStatus is deprecated in v1.19+')
    if (context.info.name === '') {
      return answerJson(200, {
        ...typed,
        kind: resource.listKind,
        metadata: {},
        items: [status],
      })
    }
    if (context.info.name !== status.metadata.name) throw notFound(resource, context.info.name)
    return answerJson(200, { ...typed, ...status })
  }
}
