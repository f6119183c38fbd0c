/** pod-binding: assigns a Pod to a node, once (upstream: registry/core/pod BindingREST). */
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { badRequest } from '../../machinery/objects/status-error.ts'
import { decodeBodyAs } from '../codec/decode-body.ts'
import { writeOptionsOf } from '../codec/write-options.ts'
import { applyBinding } from '../kinds/core/pod/pod-subresources.ts'
import type { RequestContext } from '../request/request.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { admitAction, answerAction } from './pod-action.ts'

async function bind(
  context: RequestContext,
  parts: Parts,
  at: { name: string; binding: KubeObject; dryRun: boolean },
): Promise<void> {
  const { pods } = resourcesOf(parts.dialect)
  const { name, binding, dryRun } = at
  await admitAction(context, parts, { subresource: 'binding', name, object: binding, dryRun })
  await parts.registry.update({
    resource: pods,
    namespace: context.info.namespace,
    name,
    subresource: 'binding',
    user: context.user,
    dryRun,
    warnings: context.warnings,
    context,
    isAdmitted: true,
    change: (_, entry) => applyBinding(entry.draft(), binding, parts.clock.now()),
  })
}

async function readBinding(context: RequestContext): Promise<KubeObject> {
  return await decodeBodyAs(
    context,
    { kind: 'Binding', apiVersion: 'v1', schema: 'core/v1.Binding' },
    'Ignore',
  )
}

/** POST pods/{name}/binding. */
export const bindPod: ResourceHandler = async (context, _, parts) => {
  const { dryRun } = writeOptionsOf(context.info.query, 'CreateOptions', parts.dialect)
  const binding = await readBinding(context)
  const { name } = binding.metadata
  if (name !== undefined && name !== context.info.name) {
    throw badRequest('name in URL does not match name in Binding object')
  }
  await bind(context, parts, { name: context.info.name, binding, dryRun })
  return answerAction()
}

/** POST bindings: the body names the Pod. */
export const createBinding: ResourceHandler = async (context, _, parts) => {
  const { dryRun } = writeOptionsOf(context.info.query, 'CreateOptions', parts.dialect)
  const binding = await readBinding(context)
  await bind(context, parts, { name: binding.metadata.name ?? '', binding, dryRun })
  return answerAction()
}
