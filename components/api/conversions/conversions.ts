/** Conversions between served versions of a kind that share one stored form. Nothing is lost on the way there and back. */
import { schemaOf } from '../schemas.ts'
import { decode } from '../../machinery/schema/decode.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { autoscalerFromV1, autoscalerToV1 } from './autoscaler-versions.ts'
import { eventFromEventsGroup, eventToEventsGroup } from './event-versions.ts'
import { resourceSliceFromV1alpha3, resourceSliceToV1alpha3 } from './resource-slice-versions.ts'

type Convert = (object: KubeObject) => KubeObject

/** `kind from to` -> conversion. The caller sets kind and apiVersion. */
const conversions: Readonly<Record<string, Convert>> = {
  'Event core/v1 events/v1': eventToEventsGroup,
  'Event events/v1 core/v1': eventFromEventsGroup,
  'HorizontalPodAutoscaler autoscaling/v1 autoscaling/v2': autoscalerFromV1,
  'HorizontalPodAutoscaler autoscaling/v2 autoscaling/v1': autoscalerToV1,
  'ResourceSlice resource/v1alpha3 resource/v1beta1': resourceSliceFromV1alpha3,
  'ResourceSlice resource/v1beta1 resource/v1alpha3': resourceSliceToV1alpha3,
}

/** The object in another package's form; a pair without an entry has equal forms. The input is not changed. */
export function convert(object: KubeObject, fromPackage: string, toPackage: string): KubeObject {
  const how = conversions[`${object.kind ?? ''} ${fromPackage} ${toPackage}`]
  return how === undefined ? object : how(object)
}

/** The same as an object of that version as it would be decoded: with the zero values that it shows, without the others'. */
export function convertTo(
  object: KubeObject,
  fromPackage: string,
  to: { readonly package: string; readonly kind: string; readonly apiVersion: string },
): KubeObject {
  const converted = convert(object, fromPackage, to.package)
  const schema = schemaOf(`${to.package}.${to.kind}`)
  const { kind: _, apiVersion: __, ...rest } = decode(converted, schema, { mode: 'ignore' }).object
  return { kind: to.kind, apiVersion: to.apiVersion, ...rest }
}
