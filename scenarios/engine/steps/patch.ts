/** patch: changes one object by a JSON, merge or strategic merge patch. */
import { findResource } from '../find-resource.ts'
import { anything, choice, object, optional, string } from '../shape.ts'
import { defineStep } from '../step.ts'

export const patch = defineStep({
  name: 'patch',
  summary: 'patches an object: kind, name, namespace, type (merge, strategic, json), patch',
  shape: object({
    kind: string,
    apiVersion: optional(string),
    name: string,
    namespace: optional(string),
    type: optional(choice('merge', 'strategic', 'json')),
    subresource: optional(string),
    patch: anything,
  }),
  title: ({ kind, name }) => `patch ${kind} ${name}`,
  run: async (params, { client, resources, signal }) => {
    const resource = findResource(resources, params)
    const { name, subresource, type = 'merge' } = params
    const namespace = resource.namespaced ? (params.namespace ?? 'default') : undefined
    await client.resource(resource).patch({ namespace, name }, params.patch, {
      type,
      signal,
      ...(subresource === undefined ? {} : { subresource }),
    })
  },
})
