/** patch: changes one object by a JSON, merge or strategic merge patch. */
import { anything, choice, described, object, optional, string } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

export const patch = defineStep({
  name: 'patch',
  summary: 'Patch an object.',
  shape: object({
    kind: described('The kind, its plural or a short name.', string),
    apiVersion: described('Only needed for a kind of several groups.', optional(string)),
    name: described('Name of the object.', string),
    namespace: described('Default: `default`.', optional(string)),
    type: described('Default: `merge`.', optional(choice('merge', 'strategic', 'json'))),
    subresource: described('Patch this subresource instead.', optional(string)),
    patch: described('The patch document.', anything),
  }),
  title: ({ kind, name }) => `patch ${kind} ${name}`,
  run: async (params, { client, findResource, signal, namespace: fallback }) => {
    const resource = await findResource(params)
    const { name, subresource, type = 'merge' } = params
    const namespace = resource.namespaced ? (params.namespace ?? fallback) : undefined
    await client.resource(resource).patch({ namespace, name }, params.patch, {
      type,
      signal,
      ...(subresource === undefined ? {} : { subresource }),
    })
  },
})
