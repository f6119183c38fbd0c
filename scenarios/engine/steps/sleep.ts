/** sleep: lets time pass, by the cluster's clock. For waiting until something is so there is `expect`. */
import { duration, secondsText } from '../shape.ts'
import { defineStep } from '../step.ts'

export const sleep = defineStep({
  name: 'sleep',
  summary: 'Let time pass: `sleep: 2s`.',
  shape: duration,
  title: (ms) => `sleep ${secondsText(ms)}`,
  run: async (ms, { clock, signal }) => await clock.sleep(ms, signal),
})
