/** delete: deletes one object. It does not wait for finalizers; use `expect` with `absent`. */
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import {
  boolean,
  choice,
  count,
  described,
  object,
  optional,
  string,
} from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

export const deleteStep = defineStep({
  name: 'delete',
  summary: 'Delete an object.',
  shape: object({
    kind: described('The kind, its plural or a short name.', string),
    apiVersion: described('Only needed for a kind of several groups.', optional(string)),
    name: described('Name of the object.', string),
    namespace: described('Default: `default`.', optional(string)),
    propagation: described(
      'What happens to dependents.',
      optional(choice('Background', 'Foreground', 'Orphan')),
    ),
    gracePeriodSeconds: described('Seconds the object gets to end gracefully.', optional(count)),
    ignoreMissing: described('An object that does not exist is no failure.', optional(boolean)),
  }),
  title: ({ kind, name }) => `delete ${kind} ${name}`,
  run: async (params, { client, findResource, signal, namespace: fallback }) => {
    const resource = await findResource(params)
    const { name, propagation, gracePeriodSeconds } = params
    const namespace = resource.namespaced ? (params.namespace ?? fallback) : undefined
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
