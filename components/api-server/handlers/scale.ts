/** scale: the Scale view of a workload, read and written on its parent object. */
import { decodeAs, decodeBodyAs, type BodyKind } from '../decode-body.ts'
import { applyScale, scaleOf } from '../registry/strategies/scale.ts'
import type { RequestContext } from '../request.ts'
import { answerJson } from '../respond.ts'
import { writeOptionsOf } from '../write-options.ts'
import { freshEnough } from './get.ts'
import { readPatch } from './patch.ts'
import type { ResourceHandler } from './parts.ts'

const scaleKind: BodyKind = {
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  schema: 'autoscaling/v1.Scale',
}

const readScale: ResourceHandler = async (context, resource, parts) => {
  await freshEnough(parts.cache, context.info.query.get('resourceVersion') ?? '')
  const entry = parts.registry.get(resource, context.info.namespace, context.info.name)
  return answerJson(200, scaleOf(entry.object()))
}

async function changeOf(context: RequestContext) {
  const { info } = context
  if (info.verb === 'update') {
    const sent = await decodeBodyAs(context, scaleKind, 'Ignore')
    return () => sent
  }
  const patch = await readPatch(context, scaleKind.schema)
  return (current: ReturnType<typeof scaleOf>) =>
    decodeAs(context, scaleKind, { value: patch(current), fieldValidation: 'Ignore' })
}

const writeScale: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const kind = info.verb === 'update' ? 'UpdateOptions' : 'PatchOptions'
  const options = writeOptionsOf(info.query, kind, parts.dialect)
  const change = await changeOf(context)
  const written = await parts.registry.update({
    resource,
    namespace: info.namespace,
    name: info.name,
    subresource: 'scale',
    user,
    dryRun: options.dryRun,
    warnings,
    change: (old, entry) => applyScale(entry.draft(), change(scaleOf(old))),
  })
  return answerJson(200, scaleOf(written.entry.object()))
}

export const scaleHandler: ResourceHandler = async (context, resource, parts) =>
  context.info.verb === 'get'
    ? await readScale(context, resource, parts)
    : await writeScale(context, resource, parts)
