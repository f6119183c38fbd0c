/** scale: the Scale view of a workload, read and written on its parent object. */
import { objectKindOf } from '../../api/object-kind.ts'
import type { BodyKind } from '../codec/body-kind.ts'
import { decodeAs, decodeBodyAs } from '../codec/decode-body.ts'
import { remembered } from '../../machinery/values/remembered.ts'
import { finished } from '../../machinery/values/steps.ts'
import type { DecodeWording } from '../codec/decode-wording.ts'
import { applyTo } from '../registry/apply.ts'
import { workingDraft, workingState } from '../registry/working-state.ts'
import { setManagedFields } from '../registry/field-tracking.ts'
import { scaleEntriesOf, workloadEntriesOf } from '../registry/scale-owners.ts'
import {
  applyScale,
  checkReadable,
  checkReplicasSet,
  scaleOf,
  scaleToChange,
} from '../kinds/autoscaling/scale.ts'
import { shownObject } from '../encoding/form.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource, ScalePlaces } from '../../machinery/objects/resource.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { answerForm } from '../codec/respond.ts'
import { patchOptionsOf, writeOptionsOf, type WriteOptions } from '../codec/write-options.ts'
import { freshEnough } from './get.ts'
import { isApply, readApply } from './read-apply.ts'
import { readPatch } from './read-patch.ts'
import type { Parts, ResourceHandler } from './parts.ts'
import { managerOfRequest } from './request-manager.ts'
import { wantedForm } from './wanted-form.ts'

const scaleKind: BodyKind = {
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  schema: 'autoscaling/v1.Scale',
}

/** A resource whose objects are the scales of another's. */
const scaleResource = remembered((resource: Resource): Resource => {
  const { kind, apiVersion } = scaleKind
  return {
    ...resource,
    group: 'autoscaling',
    package: apiVersion,
    version: 'v1',
    kind,
    listKind: `${kind}List`,
    storageVersion: { package: apiVersion, apiVersion },
    custom: undefined,
  }
})

function placesOf(resource: Resource): ScalePlaces | undefined {
  return objectKindOf(resource).scale
}

async function answerScale(
  context: RequestContext,
  resource: Resource,
  of: { parts: Parts; object: KubeObject },
): Promise<Answer> {
  const form = wantedForm(context, scaleResource(resource), of.parts, 'scale')
  const shown = shownObject(scaleOf(of.object, placesOf(resource)))
  return answerForm(200, form, await form.one(shown))
}

const readScale: ResourceHandler = async (context, resource, parts) => {
  await freshEnough(parts.cache.of(resource), context.info.query.get('resourceVersion') ?? '')
  const entry = parts.registry.get(resource, context.info.namespace, context.info.name)
  const object = await workingState(resource, entry)
  checkReadable(object, placesOf(resource))
  return answerScale(context, resource, { parts, object })
}

/** The options of a write, and the new Scale, with its field ownership, made from the current one. */
interface ScaleChange {
  readonly dryRun: boolean
  apply(current: KubeObject): KubeObject
}

/** A change other than an apply: the field manager of the request owns the fields that it changes. */
function trackedChange(
  context: RequestContext,
  of: { resource: Resource; parts: Parts; options: WriteOptions },
  change: (current: KubeObject) => KubeObject,
): ScaleChange {
  const { resource, parts, options } = of
  const manager = managerOfRequest(context, options.fieldManager)
  return {
    dryRun: options.dryRun,
    apply: (current) => {
      const scale = change(current)
      const write = { resource, subresource: 'scale', manager, nowMs: parts.clock.now() }
      finished(parts.registry.tracking.updated(scale, current, write))
      return scale
    },
  }
}

async function changeOf(
  context: RequestContext,
  resource: Resource,
  parts: Parts,
): Promise<ScaleChange> {
  const { info } = context
  const { dialect } = parts
  if (info.verb === 'update') {
    const options = writeOptionsOf(info.query, 'UpdateOptions', dialect)
    const sent = await decodeBodyAs(context, scaleKind, 'Ignore')
    return trackedChange(context, { resource, parts, options }, () => structuredClone(sent))
  }
  const decoded = (value: unknown, wording?: DecodeWording): KubeObject =>
    decodeAs(context, scaleKind, { value, fieldValidation: 'Ignore', wording })
  if (!isApply(context)) {
    const options = patchOptionsOf(info.query, { isApply: false, dialect })
    const patch = await readPatch(context, scaleKind.schema, options.fieldValidation)
    return trackedChange(context, { resource, parts, options }, (current) => {
      const value = finished(patch.steps(current))
      return decoded(value, patch.wording(value))
    })
  }
  const { request, options, reportFault } = await readApply(context, resource, parts)
  const by = { tracking: parts.registry.tracking, empty: objectKindOf(resource).empty() }
  return {
    dryRun: options.dryRun,
    apply: (current) => {
      const { object = current, managedFields } = finished(applyTo(current, request, by))
      reportFault()
      const scale = decoded(object)
      setManagedFields(scale, managedFields)
      return scale
    },
  }
}

const writeScale: ResourceHandler = async (context, resource, parts) => {
  const { info, user, warnings } = context
  const { dryRun, apply } = await changeOf(context, scaleResource(resource), parts)
  const written = await parts.registry.update({
    resource,
    namespace: info.namespace,
    name: info.name,
    subresource: 'scale',
    user,
    dryRun,
    warnings,
    context,
    change: (old, entry) => {
      const places = placesOf(resource)
      const current = scaleToChange(old, places)
      setManagedFields(current, scaleEntriesOf(old, places?.replicas))
      const scale = apply(current)
      checkReplicasSet(scale, places)
      const draft = applyScale(workingDraft(old, entry), scale, places?.replicas)
      const owners = scale.metadata.managedFields ?? []
      setManagedFields(draft, workloadEntriesOf(old, owners, places?.replicas))
      return draft
    },
  })
  return answerScale(context, resource, {
    parts,
    object: await workingState(resource, written.entry),
  })
}

export const scaleHandler: ResourceHandler = async (context, resource, parts) =>
  context.info.verb === 'get'
    ? await readScale(context, resource, parts)
    : await writeScale(context, resource, parts)
