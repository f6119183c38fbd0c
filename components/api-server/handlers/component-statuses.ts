/** component-statuses: the legacy list of the control plane's parts; what this server can vouch for is its store. */
import { notFound } from '../../machinery/status-error.ts'
import { negotiate } from '../negotiate.ts'
import { answerBytes, answerJson } from '../respond.ts'
import { encodeForStore } from '../watch-cache/object-bytes.ts'
import { Entry } from '../watch-cache/entry.ts'
import type { HealthCheck } from './health.ts'
import { answerList } from './list.ts'
import { wantedForm, type ResourceHandler } from './parts.ts'

const storeCheck = 'etcd'

/** Serves get and list of componentstatuses from the health checks. */
export function listComponentStatuses(checks: readonly HealthCheck[]): ResourceHandler {
  return async (context, resource, parts) => {
    const why = checks.find(({ name }) => name === storeCheck)?.check()
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
    context.warnings.push('v1 ComponentStatus is deprecated in v1.19+')
    if (!isList && name !== status.metadata.name) throw notFound(resource, name)

    if (negotiate(context.http.headers['accept'], parts.dialect).view === 'object') {
      if (!isList) return answerJson(200, { ...typed, ...status })
      return answerJson(200, {
        ...typed,
        kind: resource.listKind,
        metadata: {},
        items: [status],
      })
    }
    const entry = new Entry(status.metadata.name, 0, encodeForStore({ ...typed, ...status }))
    const form = wantedForm(context, resource, parts)
    if (isList) return answerList(form, { entries: [entry], meta: { resourceVersion: '' } })
    return answerBytes(200, form.one(entry))
  }
}
