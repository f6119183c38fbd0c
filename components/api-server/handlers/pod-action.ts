/** pod-action: what binding and eviction share: a POST below a Pod that acts on the Pod and stores no object of its own. */
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { answerJson } from '../codec/respond.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import type { Parts } from './parts.ts'

/** The Status that answers an action. */
export function answerAction(): Answer {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
  return answerJson(201, status)
}

/** Runs admission for the action. The writes that it makes are not admitted again. */
export async function admitAction(
  context: RequestContext,
  parts: Parts,
  action: { subresource: string; name: string; object: KubeObject; dryRun: boolean },
): Promise<void> {
  const { info, user, warnings } = context
  const { pods } = resourcesOf(parts.dialect)
  await parts.registry.admit({
    operation: 'CREATE',
    resource: pods,
    namespace: info.namespace,
    old: undefined,
    user,
    warnings,
    context,
    ...action,
  })
}
