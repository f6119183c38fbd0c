/** delete: deletes one object; what the API does with it then is for `expect` to see. */
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { findResource } from '../find-resource.ts'
import { boolean, choice, count, object, optional, string } from '../shape.ts'
import { defineStep } from '../step.ts'

export const deleteStep = defineStep({
  name: 'delete',
  summary:
    'deletes an object: kind, name, namespace, propagation, gracePeriodSeconds, ignoreMissing',
  shape: object({
    kind: string,
    apiVersion: optional(string),
    name: string,
    namespace: optional(string),
    propagation: optional(choice('Background', 'Foreground', 'Orphan')),
    gracePeriodSeconds: optional(count),
    ignoreMissing: optional(boolean),
  }),
  title: ({ kind, name }) => `delete ${kind} ${name}`,
  run: async (params, { client, resources, signal }) => {
    const resource = findResource(resources, params)
    const { name, propagation, gracePeriodSeconds } = params
    const namespace = resource.namespaced ? (params.namespace ?? 'default') : undefined
    try {
      await client.resource(resource).delete(
        { namespace, name },
        {
          signal,
          ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
          ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        },
      )
    } catch (error) {
      if (params.ignoreMissing === true && isStatusError(error, 'NotFound')) return
      throw error
    }
  },
})
