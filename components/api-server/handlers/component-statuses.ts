/** component-statuses: the legacy list of control plane components. It has one entry: the store. */
import { notFound } from '../../machinery/objects/status-error.ts'
import { shownObject } from '../encoding/form.ts'
import { answerForm } from '../codec/respond.ts'
import type { HealthCheck } from '../health/health.ts'
import { answerList } from './list.ts'
import type { ResourceHandler } from './parts.ts'
import { wantedForm } from './wanted-form.ts'

const storeCheck = 'etcd'

/** Serves get and list of componentstatuses from the health checks. */
export function listComponentStatuses(checks: readonly HealthCheck[]): ResourceHandler {
  return async (context, resource, parts) => {
    const why = await checks.find(({ name }) => name === storeCheck)?.check()
    const typed = { kind: resource.kind, apiVersion: 'v1' }
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
    const { name } = context.info
    const isList = name === ''
    if (!isList && name !== status.metadata.name) throw notFound(resource, name)

    const shown = shownObject({ ...typed, ...status })
    const form = wantedForm(context, resource, parts)
    if (isList) return await answerList(form, { entries: [shown], meta: { resourceVersion: '' } })
    return answerForm(200, form, await form.one(shown))
  }
}
