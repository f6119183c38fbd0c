/** token: makes a bootstrap token and keeps it in a variable. */
import { formatToken } from '../../../cluster/plan/bootstrap-token.ts'
import { choice, list, object, optional, signedDuration, string } from '../shape.ts'
import { defineStep } from '../step.ts'

export const token = defineStep({
  name: 'token',
  summary: 'makes a bootstrap token: save (variable), ttl (negative: expired), usages, groups',
  shape: object({
    /** Variable for `id.secret`; `<name>Id` gets the id alone. */
    save: string,
    ttl: optional(signedDuration),
    usages: optional(list(choice('authentication', 'signing'))),
    groups: optional(list(string)),
    description: optional(string),
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
