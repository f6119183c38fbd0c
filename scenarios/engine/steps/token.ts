/** token: creates a bootstrap token and saves it in a variable. */
import { formatToken } from '../../../cluster/plan/bootstrap-token.ts'
import {
  choice,
  described,
  list,
  object,
  optional,
  signedDuration,
  string,
} from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

export const token = defineStep({
  name: 'token',
  summary: 'Create a bootstrap token.',
  shape: object({
    save: described('Variable for the token; the variable with `Id` appended gets its id.', string),
    ttl: described('Lifetime; a negative one makes an expired token.', optional(signedDuration)),
    usages: described('Usages of the token.', optional(list(choice('authentication', 'signing')))),
    groups: described('Further groups of the token.', optional(list(string))),
    description: described('Description of the token.', optional(string)),
  }),
  title: ({ save }) => `make a bootstrap token: ${save}`,
  run: async (params, { cluster, variables }) => {
    const { save, ttl, usages, groups, description } = params
    const made = await cluster.createToken({
      ...(ttl === undefined ? {} : { ttlMs: ttl }),
      ...(usages === undefined ? {} : { usages }),
      ...(groups === undefined ? {} : { extraGroups: groups }),
      ...(description === undefined ? {} : { description }),
    })
    variables.set(save, formatToken(made))
    variables.set(`${save}Id`, made.id)
  },
})
