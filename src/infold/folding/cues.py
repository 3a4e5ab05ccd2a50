"""How people say what is worth keeping, and what is not: kind, weight, words of which one must be there, pattern. Pure data.

A pattern is only tried where one of its words occurs, and one of those behind "&" where there are any; ";" begins more such
words of the same pattern. "-" means that the word alone is enough. A pattern with "^" in front is tried at the beginning only. Weights: 3 says it outright, 2 says it as a
rule, 1 hints at it. Patterns see a clause in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from functools import cached_property, lru_cache
from itertools import chain

from infold.folding.judge import words_of

_TABLE = r"""
# Decisions
decision 3 | decided decide decision decisions verdict ruling | \b(?:decided|have to decide nothing|decision(?:s)?(?: is| was|:| made| taken)|verdict|final ruling)\b
decision 3 | agreed approved ok'd okayed signed | \b(?:(?:we|they|everyone|everybody|team|board|all|both|boss|client|\w+)(?:'ve|'s| have| has| all| both)* (?:agreed|approved|ok'd|okayed|signed off)|agreed(?: on| that| to|:)|approved)\b
decision 3 | settled settling settle plumped opted opting opt landed | \b(?:settl(?:ed|ing|e) (?:on|for)|plumped for|opt(?:ed|ing)? for|landed on)\b
decision 3 | chose chosen picked selected elected voted | \b(?:chose|chosen|(?:i|we|they|team|\w+)(?:'ve| have| has|'s)? (?:picked|selected|voted)|voted (?:for|on|to))\b
decision 3 | go going went goes gone | \b(?:(?:go|going|went|gone|goes)(?: ahead)? with|go(?:ing)? for|went for)\b
decision 3 | it & is it's it'll will shall has | (?:^[^,:]{2,50}[ ,]it is\b|\bit(?:'s| is| will be| shall be|'ll be| has to be) (?:going to be )?\S+.* (?:for|then|now|from now)\b)
decision 2 | let's lets | \blet'?s (?:go|use|book|take|pick|do|keep|stick|switch|make|drop|cancel|move|order|buy|hire|set|call it|have|get|say|run|serve|paint|build|host|try|start|plan on|stay|settle)\b
decision 2 | we'll will i'll shall we're we'd ; we & going | \b(?:(?:we|i)(?:'ll| will| shall|'re going to|'m going to| are going to) (?:use|take|keep|stick|switch|run|host|hold|serve|paint|build|stay|have|do|be using|be taking|be doing|be going|adopt|standardi[sz]e|deploy on|wear|buy|rent|hire|get|fly|travel|store|write it in))\b
decision 2 | using taking doing keeping sticking adopting choosing picking getting | \b(?:we|i|they|team)(?:'re|'m| are| am| is|'s)(?: now| both| all)? (?:using|taking|doing|keeping|sticking|adopting|choosing|picking|getting)\b
decision 3 | final finalised finalized official locked lock confirmed settled firm | \b(?:final(?:i[sz]ed)?(?: choice| decision| answer| call| pick| word)?|it'?s official|officially|locked(?: it)?(?: in)?|lock in|(?:is|are) (?:confirmed|settled|firm)|confirmed:)\b
decision 3 | winner wins won pick choice call vote prevailed nod | \b(?:(?:the |our |clear )?winner(?: is|:)?|wins|won (?:out|the)|(?:my|our|the|final) (?:pick|choice|call|vote)|(?:vote|choice|pick|call) (?:is|was|went|goes|fell|for)|prevailed|gets? the nod|got the nod)\b
decision 3 | mind | \b(?:made up (?:my|our|her|his|their) minds?|minds? (?:is|are) made up)\b
decision 3 | booked ordered bought signed hired reserved purchased rented | \b(?:i|we|they|[\w']+)(?:'ve| have|'s| has)?(?: just| already| now| finally)? (?:booked|ordered|bought|signed|hired|reserved|purchased|rented)\b
decision 2 | be | \b(?:will|'ll|shall|is going to|are going to) be\b
decision 2 | committed commit committing greenlight greenlit sealed nailed | \b(?:commit(?:ted|ting)? to (?!memory)|green ?lit|green ?light|sealed|nailed down)\b
decision 2 | chosen selected picked adopted | -
decision 2 | over | \b\w+ (?:beats|beat|over) \w+\b.*\b(?:for|as)\b
# Reversals
reversal 3 | instead ; rather & than ; place lieu & in | \b(?:instead(?: of)?|rather than|in place of|in lieu of)\b
reversal 3 | change changed changing changes | \b(?:chang(?:e|ed|es|ing)(?: (?:of|in))?(?: the| our| my)? (?:plans?|minds?|course|direction|tack|heart)|chang(?:ed|ing|e) (?:it |this |that |things )?(?:from .* )?to|plans? (?:has|have)? ?changed)\b
reversal 3 | scrap scrapped scrapping scratch ditch ditched ditching drop dropped dropping bin binned binning axe axed shelve shelved abandon abandoned abandoning dump dumped cancel cancelled canceled kill killed killing nix nixed skip skipping toss tossed | \b(?:scrap|scratch|ditch|drop|bin|axe|shelv|abandon|dump|cancel|kill|nix|toss|skip)\w*\b
reversal 3 | thought thoughts thinking reconsidered rethink rethought consideration reflection | \b(?:on second thoughts?|second thoughts|having thought|reconsidered|re-?th(?:ink|ought)|on reflection)\b
reversal 3 | switch switched switching swap swapped swapping replace replaced replaces replacing substitute trade traded | \b(?:switch|swap|replac|substitut|trad)(?:e|es|ed|ing|ped|ping)?\b
reversal 3 | out off dead anymore history cancelled ; longer more & no any gone canceled | \b(?:(?:is|are|was|'s|'re) (?:now )?(?:out|off|dead|history|gone|cancell?ed)\b(?! of (?:town|office|stock|milk))|no longer|not .{2,40} any ?more|any ?more)
reversal 3 | forget nevermind mind | \b(?:forget (?:about |the |what|that)|never ?mind)\b
reversal 2 | actually moved moving move revert reverted reverting overruled overturned vetoed backed ; after now but back turns & to all | \b(?:actually|after all|mov(?:e|ed|ing) (?:\w+ ){0,3}(?:to|from|away|over)|(?:go|going|went|back) (?:back )?to|revert\w*|overruled|overturned|vetoed|backed out)\b
reversal 2 | not | ,? not (?:the )?[\w .-]{2,40}$|\bnot [\w -]+ (?:but|any)\b|\bnot going (?:with|for|to use)\b
reversal 2 | originally initially earlier previously first used ; was were & going | \b(?:was going to|were going to|originally|initially|previously|earlier (?:choice|plan|pick|decision|idea)|first (?:said|choice|plan|wanted)|used to be)\b
reversal 2 | fell falls through works work working flopped failed | \b(?:fell through|(?:didn't|doesn't|won't|isn't|wasn't) work(?:ing)?(?: out)?|flopped|failed us)\b
reversal 2 | new updated update correction amended revised | \b(?:new (?:plan|choice|decision|direction|pick|answer)|updat(?:e|ed)\b.*:|correction|amended|revised)
reversal 2 | over | \bover to\b
reversal 3 | reversed reverse u-turn void vetoed veto twist overtaken overturning backing replaces rebooked downgraded | -
reversal 3 | take takes took taking taken | \b(?:tak(?:es?|ing|en)|took) (?:its|their|his|her) place|\btak(?:e|ing) back\b
reversal 3 | talked backed ; gone went let back & off us fall going backing | \b(?:gone off|went off|going off|talked (?:\w+ )?out of|let us down|back(?:ed|ing) out|fall back on|going back on)\b
reversal 3 | yields yield supersedes superseded ousts ousted displaces displaced replaced outvoted bumped farewell adieu retract retracting withdraw withdrawn undo undone discontinued soured cooled benched parted ; way & make makes making made give gives giving given gave | \b(?:(?:mak(?:es?|ing)|made|giv(?:es?|ing|en)|gave) way|yields? to|supersed\w+|oust\w+|displac\w+|replaced|outvoted|bumped (?!into)|farewell|adieu|retract\w*|withdraw\w*|und(?:o|one)|discontinued|soured on|cooled on|benched|parted (?:ways|company))\b
reversal 2 | history window smoke no-go cut rejected declined unavailable sold knocked regret | \b(?:(?:is|are|'s) history|out (?:of )?the window|up in smoke|no-go|make the cut|rejected|declined|unavailable|sold out|knocked (?:back|on the head)|regret\w*)\b
reversal 3 | reopened top | \b(?:reopened|came out on top)\b
reversal 3 | strike striking struck disregard disregarding | -
reversal 3 | contrary ; said told & but now no | \b(?:contrary to|said no to|(?:i|we) (?:know i |know we )?(?:said|told)\b.*\b(?:but|now))\b
# Open questions
question 3 | know knows known idea clue | \b(?:(?:do|does|did)(?:n't| not) (?:yet |actually |really |even )?know|nobody (?:yet )?(?:knows|has)|no one (?:knows|has)|no (?:idea|clue)(?: yet)?|not (?:yet )?known|still (?:don't|doesn't|do not) know|yet to know|need to know)\b
question 3 | open unresolved unclear unknown undecided unanswered unsettled outstanding tbd tbc unsure pending unconfirmed | \b(?:(?:still|is|remains|stays|left|question|as|point|issue)\b.*\bopen|open (?:question|point|issue|item)s?|unresolved|unclear|unknown|undecided|unanswered|unsettled|tbd|tbc|unsure|unconfirmed|outstanding (?:question|point|issue)|pending (?:question|answer|decision))\b
question 3 | find figure work check clarify ask settle sort establish determine verify dig | \b(?:need|needs|have|has|got|want|must|should|still|yet|trying|try|remains?|'ll|will|going|someone|somebody|let'?s|i'd like|to-?do|can you|please) .*\b(?:to )?(?:find out|figure out|work out|check|clarify|ask|settle|sort out|establish|determine|verify|dig out)\b.*\b(?:whether|if|which|who|when|where|how|what|why|about)\b
question 3 | heard hear answer answered reply word told confirmed said response | \b(?:(?:haven't|hasn't|have not|has not|yet to|not|never|no|nobody|no one|still waiting|waiting|awaiting)\b.* (?:heard|hear(?: back)?|answer(?:ed)?|reply|replied|word|told|confirmed|response|said))\b
question 3 | sure certain | (?:\bnot|n't|nobody is|no one is|still not) (?:yet )?(?:\w+ )?(?:sure|certain)\b.*\b(?:whether|if|which|who|when|where|how|what|about|yet)\b
question 3 | jury air seen question questions mystery puzzle stumped puzzling missing | \b(?:jury'?s? (?:is )?(?:still )?out|up in the air|remains to be seen|question mark|(?:the|big|open|one|main|remaining|only|another) question (?:is|remains|that)?|(?:still )?a mystery|missing piece|stumped)\b
question 3 | settled decided agreed resolved worked figured sorted cleared determined pinned nailed | (?:\bnot|n't|never|yet to|nobody|still to be|to be) (?:yet |really |fully |been |be |quite |got |has |have )*(?:settled|decided|agreed|resolved|worked out|figured out|sorted|cleared up|determined|pinned|nailed)\b
question 3 | decide determined confirmed announced discussed resolve | \b(?:to be (?:decided|determined|confirmed|announced|discussed|seen)|(?:still )?(?:need|have) to decide|can't decide|to resolve)\b
question 2 | whether | \bwhether\b
question 2 | waiting | \bwaiting (?:to (?:hear|find|see|know)|for (?:an answer|word|news|a reply|them to (?:say|tell|confirm)))
question 2 | parked parking-lot follow-up | \b(?:parked (?:the|this) (?:question|issue|topic))\b
# Done, answered
done 3 | done finished completed complete sorted handled fulfilled ticked crossed resolved closed checked delivered wrapped dealt | \b(?:(?:is|are|was|were|'s|'re|been|got|all|have|has|'ve|now|i|we) (?:\w+ )?(?:done|finished|completed?|sorted|handled|fulfilled|resolved|closed|delivered|wrapped up|dealt with)|(?:ticked|crossed|checked) off|(?:tick|cross|check) .* off|wrapped up|^done\b|done[:!.]|all done|done and dusted|can be closed)
done 3 | care way list box books history & taken took out off ticked tick behind ; bag & in | \b(?:taken care of|took care of|out of the way|off (?:my|the|our|your|his|her) (?:list|plate|desk|to-?do)|(?:ticked|tick) (?:the|that) box|in the bag|behind (?:me|us))\b
done 3 | need needed necessary bother worry required | \b(?:no (?:longer )?need(?:ed)?|not needed|(?:isn't|aren't|is not) (?:needed|necessary|required)(?: any ?more)?|no longer (?:needed|necessary|required|an issue|have to|has to|need)|don't (?:bother|worry about)|(?:don't|doesn't|won't) (?:need|have) to)\b
done 3 | already finally just managed yesterday morning today earlier | \b(?:(?:i|we|he|she|they|[\w']+)(?:'ve|'s| have| has| had)?(?: already| finally| just| now)+ \w+|managed to|(?:\w+(?:ed|t|de|nt|ld|id|ew|ote|ut|oke|ook)|made|gave|did|went|ran) .*(?:yesterday|this (?:morning|afternoon)|today|earlier|last night|on \w+day|an hour ago))\b
done 2 | been was were has have i've we've he's she's they've had | \b(?:(?:has|have|had|'ve|'s) (?:now |already |just |finally |since |all |both )*(?:been )?(?:\w+ed|done|sent|paid|made|bought|told|written|found|gone|taken|given|brought|got|gotten|set|put|cut|built|sold|met|spoken|left|kept|held|begun|run|read|chosen|drawn|hung|fixed|shot|sewn|thrown|returned|laid|fed|won|lost)|(?:was|were|got) (?:\w+ed|done|sent|paid|made|bought|told|written|found|given|set|put|taken|brought|built|sold))\b
done 2 | sent paid booked went came arrived submitted got signed fixed picked dropped cleared gone | -
done 2 | i we | \b(?:i|we)(?:'ve| have)? (?:actually |finally |just |already |even )?(?!need|want|lik|lov|hat|prefer|decid|agre|liv|work|mov|plan|hop|promis|us|pick|suppos|mention|ask)\w{3,}ed\b
done 2 | online live ready place date back up out through post way with | \b(?:is|are|'s|'re) (?:now |all )?(?:online|live|ready|in place|up to date|back|up\b|through|settled|in the post|on (?:its|their) way|with (?:the|them))
done 2 | the my our | ^(?:just |already |finally |also )*(?!need|want)\w{3,}ed (?:\w+ )?(?:the|my|our)\b
done 3 | done | ^i'm done\b
done 3 | dropped cancelled canceled abandoned scrapped postponed fell off moot obsolete | -
answer 3 | turns turned | \bturn(?:s|ed) out\b
answer 3 | answer answered answers solved mystery settled settles resolved cleared clear known official sorted | \b(?:(?:the |an |our |my |that |got |have |is )answer(?:ed|s)?|solved|mystery|settle[sd]|resolved|cleared up|(?:is|it's|now) (?:clear|known|official)|sorted)\b
answer 3 | know heard learned learnt confirmed confirms asked checked replied says said announced verified ; found word told wrote back & out me us say got had came wrote | \b(?:(?:we|i|now|finally) (?:finally |now |do )?know(?: now)?|found out|heard back|(?:got|had) (?:word|confirmation|an answer|a reply)|came back|learn(?:ed|t)|(?:just |has |have |been |have been |they |he |she |\w+ )?(?:confirm(?:ed|s)|checked|asked|replied|wrote back|told (?:me|us)|says?|said|announced|verified))\b
answer 2 | question regarding concerning ; longer & no | \b(?:no longer (?:open|a question|unclear|in doubt)|regarding|concerning|question (?:is|about|was|of))\b
answer 2 | re about as | ^(?:re|about|as (?:for|to))\b
answer 2 | yes no yep nope indeed | ^(?:yes|no|yep|nope|indeed)\b
# Commitments
commitment 3 | will i'll we'll he'll she'll they'll you'll it'll shall gonna won't | \b(?:\w+(?:'ll| will| shall| gonna)|gonna)(?: be)?(?: also| then| definitely| probably| personally| gladly)? (?!be\b|not be\b|have to\b|never\b|always\b|use\b|cost\b|take (?:about|around|\d)|need\b)\w+
commitment 3 | going & to | \b(?:i'm|i am|we're|we are|he's|she's|he is|she is|they're|they are|\w+ is|\w+'s) going to (?!be\b|use\b|take the\b)\w+
commitment 3 | promised promise promises pledged pledge vowed vow volunteered offered undertook swore | \b(?:promis\w+|pledg\w+|vow\w*|volunteered|offered to|undertook|swore) ?
commitment 3 | remind remember reminder forget | \b(?:remind (?:me|us|her|him|them)|reminder(?: to| for| that|:)?|(?:i|we) (?:must|need to|have to) (?:remember|not forget)|don't (?:let (?:me|us) )?forget|remember to)\b
commitment 3 | todo to-do action task tasks assigned assignment deliverable homework | \b(?:to-?do|action(?: item| point)?s?(?: on| for)?\b|my (?:task|job|homework)|tasks?(?: for| left|:)|assigned(?: to)?|assignment|deliverable)\b
commitment 3 | owe owes owed responsible charge hook plate court duty handling supposed expected | \b(?:owe[sd]?|responsible for|in charge of|(?:on|off) the hook|on (?:my|our|his|her|their|your) (?:plate|list|desk|agenda|radar)|in (?:my|your|his|her|their) court|(?:is|am|are|'s|'m|'re) (?:handling|supposed to|expected to|due to|meant to|set to|down to|down for))\b
commitment 3 | on & that this it which that's this's it's which's i'm she's he's we're they're | \b(?:that|this|it|which)(?:'s| is) on (?:me|us|him|her|them|you|\w+)\b|\b(?:i'm|she's|he's|we're|they're) on it\b
commitment 3 | due deadline | \b(?:(?:is|are|was|'s|falls?) due|due (?:by|on|before|date|in|back|this|next|\w+day|\d)|deadline)\b
commitment 3 | gotta must should ought ; need needs have has got left remains & to still | \b(?:\w+(?:'ve|'s)? (?:still |also |really |just )?(?:needs? to|ha(?:ve|s) to|got to|gotta|must|should|ought to|ha(?:ve|s) yet to)|(?:still|yet|left) to (?:do|be)|still (?:needs?|have|has|to)|remains to)\b
commitment 3 | count leave expect ; have get hear receive & you you'll bank | \b(?:count on (?:me|us)|leave (?:it|that|this|\w+) (?:with|to) (?:me|us)|(?:you can )?expect (?:it|the|a|my|an|\w+)|you(?:'ll| will| should) (?:have|get|hear|receive|see)|bank on)\b
commitment 3 | pending outstanding awaiting waiting still overdue | \b(?:pending|outstanding|awaiting|waiting (?:for|on)|still (?:waiting|missing|owed|outstanding|pending|open)|overdue)\b
commitment 2 | plan planning plans intend intends aim aiming want wants hope hopes meaning scheduled penciled pencilled agreed arranged | \b(?:plan(?:ning|s)?|intend\w*|aim(?:ing)?|want(?:s)?|hop(?:e|es|ing)|meaning|scheduled|pencill?ed|agreed|arranged) (?:on |in )?(?:to|for|\w+ing)\b
commitment 2 | by before until till latest eod eow cob | \b(?:by|before|until|till|latest|no later than)\b.*\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight|today|noon|midnight|weekend|week|month|year|january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|then|morning|evening|eod|end|\d)|\b(?:eod|eow|cob)\b
# Constraints
constraint 3 | must mustn't cannot can't mayn't shouldn't couldn't ; can may & not only | \b(?:must(?:n't| not)?|cannot|can't|can not|may (?:not|only)|can only|(?:i|we) couldn't|shouldn't)\b
constraint 3 | never ever | \b(?:never|don't ever|not ever)\b
constraint 3 | allergic allergy allergies intolerant intolerance coeliac celiac diabetic anaphylactic kosher halal | -
constraint 3 | forbidden prohibited banned barred disallowed allowed permitted off-limits taboo restricted ban tolerate | \b(?:forbid\w*|prohibit\w*|banned|barred|disallowed|(?:not|n't|nothing|nobody|no one|only) (?:be )?(?:allowed|permitted)|(?:is|are) only (?:allowed|permitted)|off[- ]limits|taboo|restricted|a ban|tolerate)\b
constraint 3 | limit limited limits cap capped ceiling maximum minimum max min exceed exceeds exceeding upper lower threshold quota budget tops ; most least & at | \b(?:limit(?:ed|s)?|cap(?:ped)?|ceiling|max(?:imum)?|min(?:imum)?|at (?:the )?(?:most|least|very)|exceed\w*|upper bound|threshold|quota|budget|tops)\b
constraint 3 | than | \b(?:no|not|nothing|never|anything) (?:\w+ )?(?:more|later|less|fewer|earlier|longer|bigger|larger|higher|heavier|older|wider|sooner|older|cheaper|further) than\b|\b(?:more|longer|higher) than .* (?:isn't|won't|is not|is out|is too)\b
constraint 3 | unless except without only strictly solely exclusively until provided | \b(?:unless|except(?: for| when| on)?|only (?:if|when|on|at|after|before|with|for|in|between|until|by|from|via|through|\w+)|strictly|solely|exclusively|provided(?: that)?|without (?:\w+ )?(?:approval|permission|consent|asking))\b
constraint 3 | require requires required requirement requirements mandatory compulsory obligatory essential non-negotiable nonnegotiable dealbreaker deal-breaker deal imperative | \b(?:requir\w+|mandatory|compulsory|obligatory|essential|non-?negotiable|deal-?breaker|imperative|no deal)\b
constraint 3 | rule rules policy regulation regulations law legally compliance condition conditions restriction restrictions constraint constraints stipulates insists | \b(?:(?:house|company|school|the|our|my|one|hard|golden|strict) (?:rule|polic|regulation|condition|restriction|constraint)\w*|rules?(?: is|:| say)|by law|legally|on (?:the )?condition|compliance|constraint|stipulates?|insists?)\b
constraint 3 | circumstances table question option zero nothing none nobody ; way & no | \b(?:under no circumstances|off the table|out of the question|(?:not|isn't|n't) an option|no way|zero tolerance|nothing (?:with|above|over|under|that|but|containing|after|before)|none of)\b
constraint 3 | no | \bno \w+(?: \w+){0,3} (?:after|before|on|in|at|over|above|under|below|for|past|during|between|near|please|allowed|whatsoever|ever)\b|\bno (?:meat|dairy|gluten|nuts|fish|pork|alcohol|sugar|pets|smoking|cash|stairs|flights|calls|phone)\b
constraint 2 | keep stay make ensure sure avoid under below within over above | \b(?:(?:keep|stay|has to stay|have to stay|needs to stay|stays|remain) (?:\w+ ){0,4}(?:under|below|within|out of|away|off|at)|make sure|ensure|avoid\w*|(?:under|below|within|over|above) (?:[$€£]|\d))\b
constraint 2 | needs need have has require & to | \b(?:needs?|ha(?:s|ve)|got) to (?:be|have|fit|stay|support|include|work|run|come|arrive|leave|finish|start|handle)\b
constraint 2 | free doctor medication swallow tolerate bear handle | \b(?:\w+-free|doctor(?:'s orders| says| said| told)|(?:can't|cannot) (?:tolerate|bear|handle))\b
constraint 2 | don't won't doesn't ; do & not ; not & does will | \b(?:do not|don't|won't|doesn't|does not|will not) (?:want|accept|allow|support|eat|drink|work|fly|do|take|have|use|touch|share|send|call|book|schedule|deploy|ship|store|include|mention|ring|contact|handle|pay|go)\b
# Preferences
preference 3 | prefer prefers preferred preferably preference preferences preferring | -
preference 3 | rather sooner & i'd we'd would he'd she'd | \b(?:i'd|i would|we'd|we would|would|i'd much|he'd|she'd) (?:\w+ )?(?:rather|sooner)\b
preference 3 | favourite favorite favourites favorites favour favor favours favors go-to usual | \b(?:favou?r(?:ite|ites|s)?|go-to|(?:my|our|the) usual|as usual)\b
preference 3 | love loves adore hate hates loathe dislike dislikes detest enjoy enjoys despise | \b(?:i|we|my \w+|\w+)(?: really| absolutely| always| just| do| actually| still| truly)* (?:love|adore|hate|loathe|dislike|detest|enjoy|despise)s?\b
preference 3 | like likes | \b(?:i|we|she|he|they|\w+)(?<!looks)(?<!feels)(?<!sounds)(?<!seems)(?: really| always| usually| don't| do not| doesn't| do| quite| generally| never| best)* likes? (?!to (?:know|ask|see|hear)|(?:that|this|it)\b\W*$)
preference 3 | stand bear fan fond keen partial sucker weakness soft averse obsessed addicted hooked | \b(?:can't (?:stand|bear)|(?:big |huge |not a |no |a )fan|fond of|keen on|partial to|sucker for|weakness for|soft spot|averse to|obsessed|addicted to|hooked on)\b
preference 3 | always usually normally typically generally tend habitually whenever every default | \b(?:i|we)(?:'ll|'m|'d)? (?:always|usually|normally|typically|generally|tend to|habitually|by default|almost always|mostly)\b|\b(?:always|by default|whenever (?:possible|you))\b|^(?:usually|normally|typically)\b
preference 3 | suits suit best happiest comfortable better ideal ideally works nicest | \b(?:suits? (?:me|us)|works? (?:best|better|well) for (?:me|us)|happiest|(?:feel|more|most) comfortable|ideally|(?:is|are) ideal|(?:best|better) (?:for me|with))\b
preference 3 | swear avoid steer beats day taste thing style | \b(?:swear by|(?:i|we) (?:\w+ )?avoid|steer clear|nothing beats|any day|(?:my|our|to my) taste|(?:not )?(?:really )?my (?:thing|style|cup)|not for me)\b
preference 2 | answers answer replies reply respond write explain address call talk format bullet bullets emojis emoji ; concise short brief length tone & keep make give write send format phrase | \b(?:(?:keep|make|give|write|send|format|phrase) (?:me |your |the |all |any )?(?:answers?|replies|responses?|explanations?|summar\w+|messages?|things|it|everything)\b|(?:answer|reply|respond|write|explain|address|talk|call)\b.*\b(?:in|with|me|to me|as|briefly|formally)|bullet points?|no emojis?)
preference 2 | future on onwards onward always & future now here today forward time times | \b(?:in future|in the future|from (?:now|here|today) on(?:wards?)?|going forward|every time|at all times)\b
preference 2 | drink eat wear read listen order sleep use take run cook bake watch sit fly travel commute cycle & i we | \b(?:i|we)(?: only| mostly| mainly| don't| do not| never| always)? (?:drink|eat|wear|read|listen|order|sleep|use|take|cook|bake|sit|fly|travel|commute|cycle)\b
preference 2 | please appreciate grateful rely | \bi(?:'d)? (?:really )?appreciate\b|\brely on\b
# Goals
goal 3 | goal goals aim aims aiming target targets objective ambition dream dreams dreaming mission aspire aspiring aspiration milestone | \b(?:goals?|aim(?:s|ing)?|target(?:s|ing)?|objective|ambition|dream(?:s|ing)?(?: is| of| to)?|mission|aspir\w+|milestone)\b
goal 3 | want wants wanna wish wishes hope hopes hoping intend intends intention determined eager keen dying itching | \b(?:(?:i|we|she|he|they|\w+)(?:'ve| have|'d|'m|'re)?(?: really| always| also| eventually| do| still| just)* (?:want(?:ed|s)?|wish|hop(?:e|es|ing)|intend\w*) (?:to|for|that|\w+)|wanna|intention|determined to|eager to|keen to|(?:dying|itching) to)\b
goal 3 | plan plans planning | \b(?:(?:the|my|our|long-term|big|whole|overall) plans?(?: is| are|:| for)?|(?:i|we)(?:'m|'re| am| are)? plan(?:ning)?(?: to| on)?|plan:)\b
goal 3 | love like & i'd we'd would | \b(?:i|we)(?:'d| would)(?: really| absolutely)? (?:love|like)(?: to|:| \w+ to)\b(?! (?:know|see|ask|hear|understand))
goal 3 | trying working looking saving training preparing learning studying building striving pushing gearing hunting | \b(?:trying to|working (?:on|towards?)|looking (?:to|for|at getting)|saving(?: up)? (?:for|to)|training (?:for|to)|preparing (?:for|to)|(?:i'm|i am|we're) (?:learning|studying|building)|striving|pushing (?:for|to)|gearing up|hunting for)\b
goal 3 | idea point purpose endgame end long-term eventually someday after | \b(?:the (?:idea|point|purpose|aim|whole idea) (?:is|here|of)|end ?game|eventually|what (?:i'm|we're) after|in the long (?:run|term)|long-term)\b
goal 2 | by & able fluent certified published launch launched | \b(?:be able to|fluent|certified|published|launched?)\b.*\bby\b
# Biography and states of affairs
biography 3 | name name's called named nickname call surname | \b(?:name(?:'s| is| was)|(?:is|are|was|'s|i'm) (?:called|named)|nickname|(?:just |people |friends |everyone )?calls? me|surname|goes by|go by)\b
biography 3 | i'm am | \b(?:i'm|i am) (?:a|an|the|from|in|based|married|single|divorced|widowed|retired|pregnant|originally|vegetarian|vegan|allergic|left-handed|currently|half|part|self-employed|bilingual|fluent|\d+|one of|on the|responsible|colou?r|short-sighted|dyslexic|diabetic|deaf|blind|living|working|studying|nearly|almost|turning|head|chief|lead|senior|new to|both|doing a|in charge|with)\b
biography 3 | live lives lived living based born grew raised moved hail originally residing relocated | \b(?:(?:i|we|she|he|they|\w+)(?:'m|'ve)?(?: have)?(?: all| currently| now| been| both)* (?:live[sd]?|living|based|born|grew up|raised|moved|hail|resid\w+|relocated)|born|grew up|based in|originally from)\b
biography 3 | work works worked job profession trade living occupation career employer retired freelance shift employed | \b(?:(?:i|we|she|he|\w+)(?:'ve| have)?(?: been)? work(?:s|ed|ing)? (?:as|at|for|in|with|from|night|part|full|on|\w+ shifts?)|(?:my|day|current|his|her) (?:job|profession|occupation|career|employer)|by (?:trade|training|profession)|for a living|retired|freelanc\w+|employed)\b
biography 3 | my our | \b(?:my|our)(?: \w+){0,2} (?:wife|husband|partner|spouse|fianc\w+|girlfriend|boyfriend|son|daughter|kids?|child(?:ren)?|twins|sister|brother|mother|father|mum|mom|dad|parents?|grand\w+|uncle|aunt|cousin|nephew|niece|cat|dog|pets?|horse|rabbit|parrot|hamster|boss|manager|colleague|assistant|doctor|gp|dentist|landlord|landlady|neighbou?r|flatmate|roommate|accountant|lawyer|tutor|supervisor|team|company|business|shop|flat|house|apartment|car|bike|van|garden|birthday|blood|hometown|address|mother tongue|native|passport|surname|degree)\b
biography 3 | wife husband partner son daughter kids children twins sister brother mother father mum mom dad cat dog | \b(?:wife|husband|partner|son|daughter|kids|children|twins|sister|brother|mother|father|mum|mom|dad|cat|dog)\b.{0,30}\b(?:is|are|has|was|lives|called|named|works|goes)\b
biography 3 | i've we've ; have have've got own owns had share drive & i we i've we've | \b(?:i|we)(?:'ve| have)?(?: got| also| both| only)* (?:have|got|own|drive|share|keep|run|rent|'ve) (?:a|an|the|two|three|four|five|six|seven|no|one|my|our|some|\d+)\b|\bi've got\b|\bi've (?:a|an|two|three)\b
biography 3 | speak speaks fluent native tongue bilingual language languages | \b(?:(?:i|we|she|he|they|\w+) speaks?|fluent|native|mother tongue|bilingual|(?:first|second|home) languages?)\b
biography 3 | studied study studying graduated degree phd master's bachelor's diploma qualified trained | \b(?:(?:i|she|he|we)(?:'m|'ve)? (?:studied|study|studying|graduated|qualified|trained)|degree|phd|master's|bachelor's|diploma|graduated)\b
biography 3 | suffer diagnosed condition asthma diabetes migraine migraines wheelchair celiac vegetarian vegan pregnant dyslexic insulin epilepsy arthritis | \b(?:suffer\w*|diagnosed|asthma\w*|diabet\w+|migraines?|wheelchair|vegetarian|vegan|pregnant|dyslexic|insulin|epilep\w+|arthritis|condition)\b
biography 3 | years year-old old age aged turn turning birthday | \b(?:(?:years?|yrs?)[- ]old|aged?|turn(?:s|ed|ing)? \d+|birthday|for (?:\d+|\w+) years)\b
# What is not meant
unreal 3 | if | (?:^(?:and |but |so |or )?(?:what if|if (?:i|we|you|it|that|they|only|money|the|only) .*\b(?:would|could|might|'d)\b|if only|if i were|if we were)|\b(?:as if|even if|if (?:i|we) were|if (?:i|we) had)\b)
unreal 3 | suppose supposing imagine hypothetically theoretically theory pretend say | \b(?:suppose|supposing|imagine|hypothetically|theoretically|in theory|pretend)\b|^say (?:we|i)\b
unreal 3 | maybe perhaps might possibly wonder wondering wondered thinking toying considering tempted contemplating mulling | \b(?:maybe|perhaps|might|possibly|wonder(?:ing|ed)?|(?:i'm|we're|i was|we were|i've been|been) (?:just |only )?(?:thinking (?:about|of|maybe|whether)|toying|considering|contemplating|mulling)|tempted to)\b
unreal 3 | could would | \b(?:(?:we|i|one|you|they|it|that) could(?! not|n't)|would (?:be (?:nice|cool|great|fun|lovely|funny|better|interesting|weird)|it|that|you|have (?:been|to)|never|probably|look|still)|it'd|that'd|would've|could've|could have|would have)\b
unreal 3 | joking kidding joke jokes haha lol hahaha sarcasm | \b(?:joking|kidding|jokes?|ha(?:ha)+|lol)\b
unreal 2 | guess suppose sure seems apparently rumour supposedly allegedly presumably probably | \b(?:i guess|i suppose|seems (?:like|to)|apparently|rumou?r|supposedly|allegedly|presumably)\b
unreal 3 | someday ; sometime one day & some these another win ever | \b(?:some ?day|one of these days|in another life|when i win|if i ever)\b
request 3 | can could would will | ^(?:so |and |but |ok(?:ay)?,? |hey,? |please |also )*(?:can|could|would|will) (?:you|we|i|someone|u)\b
request 3 | explain show tell give list write help summarise summarize translate compare draft suggest recommend describe walk rewrite generate create make calculate compute convert look search check find proofread shorten expand outline define elaborate go let try double-check continue rephrase paste run read repeat remind brainstorm guide point pull sort estimate | ^(?:so |and |but |ok(?:ay)?,? |now |then |first |hey,? |please |pls |just |also |maybe |quickly |instead )*(?:explain|show|tell|give|list|write|help|summari[sz]e|translate|compare|draft|suggest|recommend|describe|walk|rewrite|generate|create|make|calculate|compute|convert|look|search|find|proofread|shorten|expand|outline|define|elaborate|go (?:on|over|through|deeper)|let me (?:know|see|think)|try|double-check|check|continue|rephrase|paste|run|read|repeat|brainstorm|guide|point|pull|sort|estimate)\b
request 3 | help wondering question curious idea ideas tips advice ; you like & do need want i'd would any | \b(?:i (?:need|want|would like|'d like) you to|i'd like (?:you|to know|to see|to hear|to understand|your)|i(?:'m| am) curious|i have a (?:quick )?question|quick question|any (?:idea|tip|advice|suggestion|thought)s?|need (?:your )?(?:help|advice)|help me|do you (?:know|think|have))\b
request 2 | please pls | ^(?:please|pls)\b
chatter 3 | thanks thank cheers thx ta welcome hi hello hey morning evening goodnight bye regards congrats sorry oops | ^\W*(?:(?:many |ok |great |perfect |ah |oh )?(?:thanks|thank you|cheers|thx|ta\b|you're welcome|hi\b|hello|hey|good (?:morning|evening|afternoon|night)|bye|congrat\w*|sorry|oops))
chatter 3 | that's that this it's sounds looks makes helps interesting funny great nice good cool awesome weird crazy brilliant clever neat lovely perfect fair | ^(?:and |but |so |ok |oh |ah |wow,? |well,? |hm+,? |yeah,? )*(?:that(?:'s| is| was| sounds| looks| makes| helps?| helped| works| feels| explains| one| all)|this (?:is|was|looks|sounds|helps|makes)|it(?:'s| is| was)? (?:sounds|looks|feels|makes|great|nice|good|funny|cool|weird|so|been|really|a bit|just|pretty|raining|cold|hot)|sounds|looks|makes sense|interesting|funny|great|nice|good (?:point|to know|idea|question|stuff|one)|cool|awesome|fair|you're (?:right|kidding)|no (?:worries|problem|rush))\b
chatter 3 | your answer explanation example list option paragraph summary suggestion version | \b(?:your (?:answer|explanation|example|list|suggestion|last|second|first|previous|reply|idea|point|draft|table|summary)|(?:the|that) (?:second|first|third|last) (?:one|option|paragraph|example|point|part|sentence|bullet|suggestion)|(?:that|this) (?:answer|explanation|example|list|table|draft))\b
remark 3 | brb ; back & be right i'm in | \b(?:(?:be|right|i'm) (?:right )?back|brb|back in (?:a|\d))\b
remark 3 | follow understand get lost confused confusing asked meant sense quite | \b(?:i(?:'m| am)? (?:not sure (?:i|that)|don't (?:quite |really )?|do not |didn't (?:quite |really )?|still don't |can't )(?:follow|understand|get (?:it|that|the|why|how|what)|quite|'s what)|you(?:'ve)? lost me|confus\w+|what i (?:asked|meant))
chatter 3 | weather rain raining rained sunny snowing snow storm drizzle humid heatwave freezing windy cloudy foggy sunshine thunder | -
chatter 2 | tired exhausted sleepy hungry bored yawn headache grumpy sick mood stressed overwhelmed excited glad happy sad nervous annoyed frustrated relieved | \b(?:i'm|i am|feeling|feel|i feel|so|makes me|bit|super|getting|really|a) .{0,16}\b(?:tired|exhausted|sleepy|hungry|bored|headache|grumpy|mood|stressed|overwhelmed|excited|glad|happy|sad|nervous|annoyed|frustrated|relieved)\b
chatter 2 | yesterday last morning tonight lunch dinner weekend today slept woke watched saw laughed spilled film movie episode match concert traffic queue bus podcast song coffee barista neighbour neighbours neighbor's neighbour's | \b(?:(?:yesterday|last night|last week(?:end)?|this (?:morning|afternoon|week|weekend)|the other day|over (?:lunch|dinner|the weekend)|today)\b|slept|woke|watched|saw|laughed|spilled|film|movie|episode|traffic|queue|podcast|barista|neighbou?r'?s?)\b
chatter 2 | second minute moment sec brb back where anyway hang wait hold | ^(?:give me a|one|just a|hang on|hold on|wait|brb|back|where were we|anyway\W*$)
chatter 2 | remember recall reminds reminded | \b(?:i (?:remember|recall) (?:when|that|how)|reminds me of|reminded me of)\b
chatter 2 | there | ^there (?:was|were|is|are|'s)\b
chatter 2 | he she they someone somebody guy colleague friend | \b(?:told (?:me|us) (?:a|that|about|his|her)|kept (?:\w+ing)|showed (?:me|us)|joked|laughed|swears|insisted|complained|mentioned)\b
"""

# Explicit marks in other languages; the words around them stay as they were said.
_FOREIGN = r"""
decision 3 | entscheidung entschieden beschlossen nehmen einigen geeinigt entscheiden | \b(?:entscheidung|entschieden|beschlossen|wir nehmen|geeinigt|entscheiden uns)\b
reversal 3 | stattdessen statt anstatt planänderung doch umentschieden | \b(?:stattdessen|(?:an)?statt|planänderung|(?:lieber|nun) doch|umentschieden)\b
constraint 3 | darf dürfen muss müssen budget höchstens mindestens maximal allergisch allergie verboten niemals nur frist unverträglichkeit nie | \b(?:darf|dürfen|muss|müssen|budget|höchstens|mindestens|maximal|allergi\w+|verboten|niemals|nie|nur (?:wenn|mit|am|bis)|frist|unverträglich\w*)\b
preference 3 | bevorzuge lieber mag liebe hasse lieblings ungern bevorzugen lieblingsfarbe | \b(?:bevorzuge\w*|lieber|ich (?:mag|liebe|hasse)|lieblings\w*|ungern)\b
biography 3 | heiße heisse wohne arbeite bin meine mein unsere unser geboren | \b(?:ich (?:hei(?:ß|ss)e|wohne|arbeite|bin)|mein(?:e)? \w+ (?:ist|heißt|wohnt|hat)|unser(?:e)? \w+ (?:ist|heißt|hat)|geboren)\b
goal 3 | ziel möchte will wollen plane planen | \b(?:(?:mein|unser|das) ziel|ich (?:möchte|will|plane)|wir (?:wollen|planen|möchten))\b
commitment 3 | werde wird schicke sende erledige bis offen frist erinnere kümmere kümmert | \b(?:ich (?:werde|schicke|sende|erledige|rufe|kümmere)|wird \w+|erinnere mich|kümmert sich|bis (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|morgen|ende|zum|\d))
question 3 | ungeklärt unklar wissen offen | (?:^offen|\b(?:ungeklärt|unklar|wissen (?:wir )?(?:noch )?nicht|(?:noch|frage) offen|offene frage))\b
decision 3 | décision décidé choisi retenu prenons optons convenu | \b(?:décision|décidé|choisi|retenu|on prend|nous prenons|optons|convenu)\b
reversal 3 | plutôt finalement lieu changement | \b(?:plutôt que|finalement|au lieu de|changement de (?:plan|programme))\b
constraint 3 | doit dois doivent faut maximum minimum allergique interdit jamais seulement uniquement budget délai peut peux | \b(?:ne? (?:doit|dois|doivent|peut|peux|faut)|doit|dois|doivent|il faut|au (?:maximum|plus|moins)|maximum|allergique|interdit|jamais|seulement|uniquement|budget|délai)\b
preference 3 | préfère préfères préférons préféré aime adore déteste préférence | \b(?:préfér?\w*|préfère|j'aime|j'adore|(?:je )?déteste)\b
biography 3 | m'appelle habite travaille suis mon ma mes notre née né | \b(?:je m'appelle|j'habite|habite|je travaille|je suis|(?:mon|ma|notre) \w+ (?:est|s'appelle|a|habite)|née? (?:à|en|le))\b
goal 3 | objectif veux voudrais but souhaite | \b(?:objectif|je (?:veux|voudrais|souhaite)|mon but|nous voulons)\b
commitment 3 | vais enverrai ferai avant d'ici rappelle-moi doit | \b(?:je vais|j'enverrai|enverra|je ferai|d'ici|rappelle-moi|avant (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|le))\b
decision 3 | decidimos decidido decisión elegimos elegido quedamos acordamos acordado | -
reversal 3 | lugar cambio mejor vez | \b(?:en (?:lugar|vez) de|cambio de planes?)\b
constraint 3 | debe deben debo máximo mínimo alérgico alérgica prohibido nunca solo sólo únicamente presupuesto plazo puede puedo | \b(?:no (?:debe|deben|debo|puede|puedo)|debe|deben|máximo|mínimo|alérgic[oa]|prohibido|nunca|s[oó]lo (?:si|con|hasta)|únicamente|presupuesto|plazo)\b
preference 3 | prefiero preferimos prefiere gusta gustan encanta odio favorito favorita | -
biography 3 | llamo vivo trabajo soy mi nuestro nuestra nací | \b(?:me llamo|vivo|trabajo (?:en|como|de)|soy|(?:mi|nuestr[oa]) \w+ (?:es|se llama|vive|tiene)|nací)\b
goal 3 | objetivo quiero queremos meta | \b(?:objetivo|quier[oe]|queremos|mi meta)\b
commitment 3 | voy enviaré enviará haré antes recuérdame vamos | \b(?:voy a|enviar[éá]|har[éá]|antes del?|recuérdame|vamos a)\b
"""
_CHINESE = r"""
decision | 决定|选定|确定用|就用|定下来|改用|决策
reversal | 改用|改成|不用.+了|而不是|取消
constraint | 必须|不能|不可以|不得|预算|最多|至少|过敏|禁止|截止|只能|上限|不超过
preference | 喜欢|偏好|更喜欢|讨厌|不喜欢|最爱|习惯
biography | 我叫|我是|我住在|我在.{1,12}工作|我的.{1,8}(?:是|叫|住)|我们的.{1,8}(?:是|叫)|名字是
goal | 目标|我想|我们想|打算|计划|希望
commitment | 我会|我们会|将会|负责|之前(?:完成|提交|发)|提醒我|待办
question | 还不知道|还没(?:确定|决定)|不清楚|待定|未定
"""


class Cue:
    """One way to say something; compiled when it is first needed."""

    __slots__ = ("__dict__", "also", "kind", "source", "weight")

    def __init__(self, kind: str, weight: int, also: frozenset[str], source: str) -> None:
        self.kind, self.weight, self.also, self.source = kind, weight, also, source

    @cached_property
    def find(self) -> Callable[[str], object]:
        """What finds the pattern in a text."""
        if not self.source:
            return bool
        pattern = re.compile(self.source)
        return pattern.match if self.source.startswith("^") else pattern.search


def _table(text: str) -> dict[str, list[Cue]]:
    found: dict[str, list[Cue]] = {}
    for line in text.strip().splitlines():
        if not line or line.startswith("#"):
            continue
        head, words, pattern = (part.strip() for part in line.split(" | ", 2))
        kind, weight = head.split()
        for group in words.split(";"):
            own, _, also = group.partition("&")
            cue = Cue(kind, int(weight), frozenset(also.split()), "" if pattern == "-" else pattern)
            for word in own.split():
                found.setdefault(word, []).append(cue)
    return found


_CUES = _table(_TABLE)
_CUES_OF = {
    kind: {word: own for word, cues in _CUES.items() if (own := [cue for cue in cues if cue.kind == kind])}
    for kind in {cue.kind for cues in _CUES.values() for cue in cues}
}
_ABROAD = _table(_FOREIGN)
# Words that can say that something is done or answered.
CLOSERS = frozenset(
    word for word, cues in _CUES.items() if any(cue.kind in ("done", "answer") for cue in cues)
) - frozenset("i we the my our up out with way date as about re was were has have had it no yes been".split())
_ASIAN = [
    (kind.strip(), re.compile(pattern.strip()))
    for kind, _, pattern in (line.partition("|") for line in _CHINESE.strip().splitlines())
]
_ASIAN_TEXT = re.compile(r"[\u3400-\u9fff]")


def weigh(low: str, words: Set[str], abroad: bool = False) -> dict[str, int]:
    """The kinds a clause shows signs of, each with its weight; `low` is the clause in lower case, `words` its words."""
    found: dict[str, int] = {}
    table = _ABROAD if abroad else _CUES
    for cue in {*chain.from_iterable(map(table.__getitem__, table.keys() & words))}:
        if found.get(cue.kind, 0) < cue.weight and not (cue.also and cue.also.isdisjoint(words)) and cue.find(low):
            found[cue.kind] = cue.weight
    if not low.isascii() and _ASIAN_TEXT.search(low):
        found.update((kind, 3) for kind, pattern in _ASIAN if pattern.search(low))
    return found


def says(low: str, words: Set[str], kind: str, least: int) -> bool:
    """Whether a clause shows a sign of one kind that weighs so much: what `weigh` finds, without the other kinds."""
    table = _CUES_OF.get(kind)
    if table is not None:
        for word in table.keys() & words:
            for cue in table[word]:
                if cue.weight >= least and not (cue.also and cue.also.isdisjoint(words)) and cue.find(low):
                    return True
    return not low.isascii() and kind in weigh(low, frozenset())  # the marks of Chinese are no words


def asks(text: str) -> bool:
    """Whether a line says that something is not known yet."""
    low = text.lower()
    return text.endswith("?") or says(low, words_of(text), "question", 2)


# Common small words, by which English is told from what only looks like it.
_ENGLISH = frozenset(
    "the is are was were be to of and i i'm i'll i've i'd my we we're our it it's you your for that this with at "
    "have has had does don't will would can not from by but if they she his her its us or all about just there what "
    "when which who how than then out up please been".split()
)
_ELSEWHERE = frozenset(
    "der das und ist nicht ich wir ein eine den dem mit für auf zu von im bis wird sind haben hat mein meine "
    "unser unsere wer wie kann bei nach aus le la les et est je nous un une du avec pas que qui "
    "dans ne au aux mon ma notre ce cette j'ai c'est l'avion d'ici sont à el los las y es yo nosotros una del por "
    "con para que en mi nuestro nuestra se al está está su soy pero".split()
)


def foreign(low: str, words: Set[str]) -> bool:
    """Whether a sentence is in another language than English, as far as small words and letters tell."""
    if not low.isascii() and _ASIAN_TEXT.search(low):
        return True
    if not words.isdisjoint(_ENGLISH):
        return not words.isdisjoint(_ELSEWHERE) and len(words & _ELSEWHERE) > len(words & _ENGLISH)
    return not words.isdisjoint(_ELSEWHERE) or (not words.isdisjoint(_ABROAD) and bool(weigh(low, words, True)))


def cue_names(weights: dict[str, int]) -> list[str]:
    """Cues as the judge knows them."""
    return [*chain.from_iterable(map(_names, weights.items()))]


@lru_cache(maxsize=256)
def _names(weighed: tuple[str, int]) -> tuple[str, str]:
    kind, weight = weighed
    return f"cue {kind} {weight}", f"cue {kind}"
